"""The architectures: classes of `transformers` and `timm` with configurations of a few thousand
parameters. Nothing is downloaded."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch

#: Ways to use a model.
FORWARD, TRAINING, AUTOCAST, GENERATION = "forward", "training", "autocast", "generation"
#: Rows, tokens, words.
BATCH, LENGTH, WORDS = 2, 9, 48

Tensors = dict[str, torch.Tensor]
Config = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A model and what it is given."""

    title: str
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[], Tensors]
    ways: tuple[str, ...] = (FORWARD,)
    #: In which it is one graph: transformers asks of float16 in some whether numbers are finite.
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16")
    #: Names of modules whose results are outputs too, since the model's own hide what is inside.
    inner: str | None = None
    #: The state that a text leaves behind is a result, too.
    recurrent: bool = False


def tokens(length: int = LENGTH, name: str = "input_ids") -> Tensors:
    """Words of a text."""
    return {name: torch.randint(3, WORDS, (BATCH, length))}


def masked(length: int = LENGTH) -> Tensors:
    """Words of texts of which the second one is shorter."""
    mask = torch.ones(BATCH, length, dtype=torch.int64)
    mask[1, length - 3 :] = 0
    return tokens(length) | {"attention_mask": mask}


def image(size: int = 32, name: str = "pixel_values") -> Tensors:
    """Pictures."""
    return {name: torch.randn(BATCH, 3, size, size)}


def both(size: int = 32) -> Tensors:
    """Texts and pictures."""
    return masked() | image(size)


def spectrum() -> Tensors:
    """Sound as Whisper takes it, and the words that were said so far."""
    return {"input_features": torch.randn(BATCH, 8, 24)} | tokens(5, "decoder_input_ids")


def hugging(
    word: str, size: str = "", then: str = "", **config: Any
) -> Callable[[], torch.nn.Module]:
    """A class of `transformers` with its configuration, whose class is called `size`; `then` is a
    method that is called once."""

    def make() -> torch.nn.Module:
        import transformers

        of = getattr(transformers, size or word.split("For")[0] + "Config")
        made = of(**config)
        model = getattr(transformers, word)(made)
        if then:
            getattr(model, then)()
        return model

    return make


def timm_model(word: str, **config: Any) -> Callable[[], torch.nn.Module]:
    """A model of `timm`."""

    def make() -> torch.nn.Module:
        import timm

        return timm.create_model(word, pretrained=False, **config)

    return make


#: What decoders have in common.
DECODER: Config = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
#: What encoders have in common.
ENCODER: Config = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 32,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
#: What models that read and write have in common.
PAIR: Config = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
BOTH_WAYS = (FORWARD, TRAINING)


@functools.cache
def architectures() -> dict[str, Architecture]:
    """All of them, by the names of their files."""
    return {
        **_decoders(),
        **_mixtures(),
        **_states(),
        **_encoders(),
        **_pairs(),
        **_pictures(),
        **_found_in_pictures(),
    }


def _decoders() -> dict[str, Architecture]:
    gpt2: Config = {
        "vocab_size": WORDS,
        "n_positions": 32,
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 4,
        "bos_token_id": 1,
    }
    drops: Config = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "eos_token_id": 2}
    gemma: Config = {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 4}
    return {
        "gpt2": Architecture(
            "GPT-2",
            hugging("GPT2LMHeadModel", "GPT2Config", **gpt2, **drops),
            tokens,
            (*BOTH_WAYS, AUTOCAST, GENERATION),
        ),
        "llama": Architecture(
            "Llama", hugging("LlamaForCausalLM", **DECODER), tokens, (*BOTH_WAYS, GENERATION)
        ),
        "mistral": Architecture(
            "Mistral, with attention to the newest words alone",
            hugging("MistralForCausalLM", **DECODER, sliding_window=4),
            tokens,
        ),
        "gemma": Architecture(
            "Gemma 2",
            hugging("Gemma2ForCausalLM", **DECODER, **gemma),
            tokens,
            BOTH_WAYS,
            inner="model.layers.?.*",
        ),
        "qwen": Architecture(
            "Qwen 3", hugging("Qwen3ForCausalLM", **DECODER, head_dim=8), masked, BOTH_WAYS
        ),
        "phi": Architecture(
            "Phi",
            hugging("PhiForCausalLM", **DECODER, resid_pdrop=0.0, embd_pdrop=0.0),
            tokens,
            (FORWARD, GENERATION),
        ),
    }


def _mixtures() -> dict[str, Architecture]:
    latent: Config = {
        "kv_lora_rank": 16,
        "q_lora_rank": 16,
        "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 8,
    }
    experts: Config = {"n_routed_experts": 4, "n_shared_experts": 1, "n_group": 2, "topk_group": 1}
    more: Config = {"v_head_dim": 8, "moe_intermediate_size": 16, "first_k_dense_replace": 1}
    deepseek: Config = {**DECODER, "num_key_value_heads": 4, "num_experts_per_tok": 2}
    return {
        "mixtral": Architecture(
            "Mixtral, a mixture of experts",
            hugging(
                "MixtralForCausalLM",
                **DECODER,
                num_local_experts=4,
                num_experts_per_tok=2,
                experts_implementation="batched_mm",
            ),
            tokens,
            BOTH_WAYS,
        ),
        "deepseek": Architecture(
            "DeepSeek V3: attention to a latent, and a mixture of experts",
            hugging(
                "DeepseekV3ForCausalLM",
                **deepseek,
                **latent,
                **experts,
                **more,
                experts_implementation="batched_mm",
            ),
            tokens,
            inner="model.layers.?.*",
        ),
    }


def _states() -> dict[str, Architecture]:
    words: Config = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2}
    return {
        "mamba": Architecture(
            "Mamba, a selective state space",
            hugging("MambaForCausalLM", **words, state_size=4),
            lambda: tokens(5),
            BOTH_WAYS,
        ),
        "rwkv": Architecture(
            "RWKV",
            hugging("RwkvForCausalLM", **words, context_length=16, rescale_every=0),
            lambda: tokens(5),
            inner="rwkv.blocks.?.*",
            recurrent=True,
        ),
    }


def _encoders() -> dict[str, Architecture]:
    deberta: Config = {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 4,
    }
    sound: Config = {
        "conv_dim": (16, 16),
        "conv_kernel": (10, 3),
        "conv_stride": (5, 2),
        "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 8,
        "num_conv_pos_embedding_groups": 2,
        "apply_spec_augment": False,
        "layerdrop": 0.0,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "feat_proj_dropout": 0.0,
        "final_dropout": 0.0,
    }
    wave = {key: ENCODER[key] for key in list(ENCODER)[:5]}
    return {
        "bert": Architecture(
            "BERT", hugging("BertForMaskedLM", **ENCODER), masked, (*BOTH_WAYS, AUTOCAST)
        ),
        "roberta": Architecture(
            "RoBERTa", hugging("RobertaForMaskedLM", **ENCODER, pad_token_id=1), tokens
        ),
        "deberta": Architecture(
            "DeBERTa V2, with relative positions",
            hugging("DebertaV2ForMaskedLM", **ENCODER, **deberta),
            tokens,
            BOTH_WAYS,
        ),
        "electra": Architecture(
            "ELECTRA", hugging("ElectraForMaskedLM", **ENCODER, embedding_size=16), masked
        ),
        "wav2vec2": Architecture(
            "wav2vec 2.0",
            hugging("Wav2Vec2ForCTC", then="freeze_feature_encoder", **wave, **sound),
            lambda: {"input_values": torch.randn(BATCH, 200)},
            BOTH_WAYS,
        ),
    }


def _pairs() -> dict[str, Architecture]:
    t5: Config = {
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 48,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 4,
        # A distance of nine is where a bucket begins, for the reader and for the writer.
        "relative_attention_num_buckets": 6,
        "relative_attention_max_distance": 81,
    }
    whisper: Config = {
        **PAIR,
        "num_mel_bins": 8,
        "max_source_positions": 12,
        "max_target_positions": 16,
    }
    return {
        "t5": Architecture(
            "T5",
            hugging(
                "T5ForConditionalGeneration",
                vocab_size=WORDS,
                **t5,
                dropout_rate=0.0,
                decoder_start_token_id=0,
            ),
            lambda: tokens(12) | tokens(12, "decoder_input_ids"),
            BOTH_WAYS,
            inner="*coder.block.?.layer.?",
        ),
        "bart": Architecture(
            "BART",
            hugging("BartForConditionalGeneration", **PAIR, max_position_embeddings=32),
            lambda: masked() | tokens(5, "decoder_input_ids"),
            dtypes=("float32", "bfloat16"),
        ),
        "whisper": Architecture(
            "Whisper", hugging("WhisperForConditionalGeneration", **whisper), spectrum, BOTH_WAYS
        ),
    }


def _pictures() -> dict[str, Architecture]:
    vit: Config = {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 4}
    swin: Config = {
        "img_size": 32,
        "window_size": 4,
        "embed_dim": 16,
        "depths": (2, 2),
        "num_heads": (2, 4),
    }
    return {
        "vit": Architecture(
            "Vision Transformer",
            timm_model("vit_tiny_patch16_224", num_classes=10, **vit),
            lambda: image(32, "x"),
            BOTH_WAYS,
            inner="blocks.*",
        ),
        "swin": Architecture(
            "Swin Transformer, with shifted windows",
            timm_model("swin_tiny_patch4_window7_224", num_classes=10, drop_path_rate=0.0, **swin),
            lambda: image(32, "x"),
            BOTH_WAYS,
            inner="layers.*",
        ),
        "convnext": Architecture(
            "ConvNeXt",
            timm_model("convnext_atto", num_classes=10, depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)),
            lambda: image(32, "x"),
            inner="stages.*",
        ),
        "resnet": Architecture(
            "ResNet",
            timm_model(
                "resnet18", num_classes=10, layers=[1, 1, 1, 1], channels=[8, 16, 16, 24],
                stem_width=4,
            ),
            lambda: image(32, "x"),
            (*BOTH_WAYS, AUTOCAST),
            inner="layer?",
        ),
        "efficientnet": Architecture(
            "EfficientNet",
            timm_model("test_efficientnet", num_classes=10),
            lambda: image(32, "x"),
            BOTH_WAYS,
            inner="blocks.*",
        ),
    }  # fmt: skip


def _found_in_pictures() -> dict[str, Architecture]:
    text: Config = {
        "vocab_size": WORDS,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
    }
    text |= {"num_attention_heads": 4, "max_position_embeddings": 16}
    text |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    vision: Config = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "patch_size": 16,
    }
    vision |= {"num_attention_heads": 4, "image_size": 32}
    backbone: Config = {
        "model_type": "resnet",
        "embedding_size": 8,
        "hidden_sizes": [8, 16],
        "depths": [1, 1],
    }
    backbone |= {"layer_type": "basic", "out_features": ["stage2"]}
    detr: Config = {
        **PAIR,
        "num_queries": 5,
        "backbone_config": backbone,
        "use_timm_backbone": False,
    }
    del detr["vocab_size"]
    return {
        "clip": Architecture(
            "CLIP", hugging("CLIPModel", "CLIPConfig", text_config=text, vision_config=vision), both
        ),
        "detr": Architecture(
            "DETR", hugging("DetrForObjectDetection", **detr, num_labels=6), image
        ),
    }
