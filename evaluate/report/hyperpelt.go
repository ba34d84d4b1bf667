package report

// What is known of the tables of HyperPELT (Zhang et al. 2022). Values with a
// question mark are recalled and were not read in the paper; they serve nobody
// as a target.

var hyperpeltGLUE = paper{
	Title: "HyperPELT (Zhang et al. 2022), Table 1: GLUE on T5-base",
	Source: "The average is that of the 11 values. Confirmed are the averages of HyperPELT, HyperPrefix, prefix-tuning and single adapters, and the sizes 1.01x and 1.14x; " +
		"cells with ? were not confirmed.",
	Columns: []column{
		{Metric: "glue", Name: "average"},
		{Metric: "glue-cola-matthews", Name: "CoLA"},
		{Metric: "glue-sst2-accuracy", Name: "SST-2"},
		{Metric: "glue-mrpc-accuracy", Name: "MRPC"},
		{Metric: "glue-mrpc-f1", Name: "F1"},
		{Metric: "glue-qqp-accuracy", Name: "QQP"},
		{Metric: "glue-qqp-f1", Name: "F1"},
		{Metric: "glue-stsb-pearson", Name: "STS-B"},
		{Metric: "glue-stsb-spearman", Name: "Spearman"},
		{Metric: "glue-mnli-accuracy", Name: "MNLI"},
		{Metric: "glue-qnli-accuracy", Name: "QNLI"},
		{Metric: "glue-rte-accuracy", Name: "RTE"},
	},
	Size: total,
	Each: true,
	Rows: []paperRow{
		{"T5, single-task", "8.0x?", []string{"84.67?", "54.85?", "92.19?", "88.18?", "91.61?", "91.46?", "88.61?", "89.55?", "89.41?", "86.49?", "91.60?", "67.39?"}, "t5-single"},
		{"Adapters, single-task", "1.07x?", []string{"84.88", "59.49?", "93.46?", "88.18?", "91.55?", "90.94?", "88.01?", "87.44?", "87.18?", "86.38?", "92.26?", "68.84?"}, "adapters-single"},
		{"T5, multi-task", "1.0x?", []string{"85.47?", "54.88?", "92.54?", "90.15?", "93.01?", "91.13?", "88.07?", "88.84?", "88.53?", "85.66?", "92.04?", "75.36?"}, "t5-multi"},
		{"Adapters-dagger", "1.07x?", []string{"85.83?", "61.53?", "93.00?", "90.15?", "92.91?", "90.47?", "87.26?", "89.86?", "89.44?", "86.09?", "93.17?", "70.29?"}, "adapters-dagger"},
		{"HyperFormer", "1.54x?", []string{"86.58?", "61.32?", "93.80?", "90.64?", "93.33?", "90.13?", "87.18?", "89.55?", "89.03?", "86.33?", "92.79?", "78.26?"}, "hyperformer"},
		{"HyperFormer++", "1.02x?", []string{"86.48?", "63.73?", "94.03?", "89.66?", "92.63?", "90.28?", "87.20?", "90.00?", "89.66?", "85.74?", "93.02?", "75.36?"}, "hyperformer-plus"},
		{"Prefix-tuning", "1.14x", []string{"86.09", "56.67?", "93.92?", "89.42?", "92.57?", "90.59?", "87.37?", "89.49?", "89.34?", "85.23?", "93.17?", "79.17?"}, "prefix-tuning"},
		{"MAMAdapter", "1.15x?", []string{"86.53?", "56.53?", "93.58?", "91.35?", "93.96?", "90.58?", "87.53?", "88.89?", "88.76?", "85.98?", "92.77?", "81.94?"}, "mam-adapter"},
		{"HyperPrefix", "1.01x", []string{"86.65", "", "", "", "", "", "", "", "", "", "", ""}, "hyperprefix"},
		{"HyperPELT", "1.02x?", []string{"87.09", "65.96?", "93.23?", "89.42?", "92.31?", "90.48?", "87.54?", "89.15?", "89.07?", "85.35?", "92.79?", "82.64?"}, "hyperpelt"},
	},
}

var hyperpeltFewShot = paper{
	Title:  "HyperPELT (Zhang et al. 2022), Table 2: few-shot transfer from GLUE",
	Source: "Only HyperPELT's best values are known, probably those of the most examples, and from a second source: none is confirmed.",
	Columns: []column{
		{Metric: "accuracy", Name: "CB", Input: "cb"},
		{Metric: "accuracy", Name: "BoolQ", Input: "boolq"},
		{Metric: "accuracy", Name: "IMDB", Input: "imdb"},
		{Metric: "accuracy", Name: "TREC", Input: "trec"},
		{Metric: "accuracy", Name: "PAWS", Input: "paws"},
	},
	Each: true,
	Rows: []paperRow{{"HyperPELT", "", []string{"91.43?", "75.7?", "90.5?", "97.2?", "91.79?"}, "hyperpelt"}},
}

var hyperpeltVL = paper{
	Title:  "HyperPELT (Zhang et al. 2022), Table 3: vision and language on T5-base",
	Source: "Confirmed are the trained shares and that both methods perform alike; their scores are not known.",
	Columns: []column{
		{Metric: "vqa", Name: "VQA v2", Input: "vqa", Points: true},
		{Metric: "accuracy", Name: "GQA", Input: "gqa"},
		{Metric: "accuracy", Name: "VG-QA", Input: "vgqa"},
		{Metric: "cider", Name: "COCO, CIDEr", Input: "caption"},
	},
	Size: share,
	Each: true,
	Rows: []paperRow{
		{"VL-Adapter", "7.16 %", []string{"", "", "", ""}, "vl-adapter"},
		{"VL-HyperPELT", "6.62 %", []string{"", "", "", ""}, "vl-hyperpelt"},
	},
}

var hyperpeltVLFewShot = paper{
	Title:   "HyperPELT (Zhang et al. 2022), Table 4: few-shot transfer of vision and language",
	Source:  "Only the best values are known, probably those of the most examples, and from a second source: none is confirmed.",
	Columns: []column{{Metric: "vqa", Name: "OK-VQA", Input: "okvqa", Points: true}, {Metric: "accuracy", Name: "SNLI-VE", Input: "snli-ve"}},
	Each:    true,
	Rows: []paperRow{
		{"VL-Adapter", "", []string{"34.87?", ""}, "vl-adapter"},
		{"VL-HyperPELT", "", []string{"35.86?", "65.67?"}, "vl-hyperpelt"},
	},
}
