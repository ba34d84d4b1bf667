package clip

import "strings"

// hfParts turns parts of OpenAI's names into Hugging Face's.
var hfParts = strings.NewReplacer(
	"visual.class_embedding", "vision_model.embeddings.class_embedding",
	"visual.conv1.weight", "vision_model.embeddings.patch_embedding.weight",
	"visual.positional_embedding", "vision_model.embeddings.position_embedding.weight",
	"visual.ln_pre.", "vision_model.pre_layrnorm.",
	"visual.ln_post.", "vision_model.post_layernorm.",
	"visual.proj", "visual_projection.weight",
	"visual.transformer.resblocks.", "vision_model.encoder.layers.",
	"transformer.resblocks.", "text_model.encoder.layers.",
	"token_embedding.weight", "text_model.embeddings.token_embedding.weight",
	"positional_embedding", "text_model.embeddings.position_embedding.weight",
	"ln_final.", "text_model.final_layer_norm.",
	"text_projection", "text_projection.weight",
	".attn.out_proj.", ".self_attn.out_proj.",
	".ln_1.", ".layer_norm1.",
	".ln_2.", ".layer_norm2.",
	".mlp.c_fc.", ".mlp.fc1.",
	".mlp.c_proj.", ".mlp.fc2.",
)

// hfName is Hugging Face's name of a tensor.
func hfName(name string) string { return hfParts.Replace(name) }

// splitHF names one of the three matrices that OpenAI fuses; p is q, k or v.
func splitHF(name, p string) string {
	return strings.Replace(strings.Replace(name, ".attn.in_proj_", ".self_attn."+p+"_proj.", 1), "_proj_", "_proj.", 1)
}

// transposedHF reports whether Hugging Face keeps the transpose.
func transposedHF(name string) bool { return name == "visual.proj" || name == "text_projection" }
