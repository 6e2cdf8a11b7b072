// Package inspect asks a fitted model what it has learned: which features its score rests on ([Permute]) and how its answers change with one of
// them ([Depend]). It asks the model nothing but answers, so that any [ml.Classifier] or [ml.Regressor] will do, and changes nothing. It ends at the
// numbers and their tables: what draws them is runtime/chart's business.
package inspect
