package main

// What persons are called and where they live. The states are those of Nexmark: query 3 wants three of the six.
var (
	firstNames = [...]string{"Ada", "Bruno", "Carla", "Diego", "Elena", "Franz", "Grace", "Hugo", "Ines", "Jorge", "Kate"}
	lastNames  = [...]string{"Abreu", "Blanco", "Costa", "Duarte", "Estrada", "Funes", "Garay", "Herrera", "Ibarra"}
	places     = [...][2]string{{"Phoenix", "AZ"}, {"Los Angeles", "CA"}, {"San Francisco", "CA"}, {"Boise", "ID"}, {"Portland", "OR"}, {"Bend", "OR"},
		{"Redmond", "WA"}, {"Seattle", "WA"}, {"Kent", "WA"}, {"Cheyenne", "WY"}}
)
