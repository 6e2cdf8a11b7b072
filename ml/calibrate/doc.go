// Package calibrate makes the probabilities of a classifier mean what they say: of the rows that are given 0.7, seven in ten. A forest's are too
// near the middle, those of models that know their training rows by heart too far out. It learns, on rows that the model has not learned from,
// how often each class happened at each probability: scikit-learn's CalibratedClassifierCV. It ends at the calibrated model, an [ml.Classifier]:
// whether calibration helped is for [cancha/ml/metric] to say.
//
// Three methods are there. [Sigmoid] fits two numbers for each class, [Isotonic] any curve that does not fall, which takes a thousand rows or more,
// and [Temperature] a single number for all classes. Curves of more than two classes are fitted one against the rest and scaled to a sum of 1.
package calibrate
