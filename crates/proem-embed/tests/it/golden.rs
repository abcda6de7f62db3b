//! The built-in model against a reference that was computed without this crate.
//!
//! The reference is NumPy on the raw table's integers with the shipped scales, which training weighted
//! (`evals/selection/README.md`): the tokeniser's steps on whole strings, as the original
//! has them (decomposition, removal of `Mn`, lowering, greedy longest match), and sums in double
//! precision. Coordinates are numbers 0, 1, 128 and 255 of the unit vector.

use proem_embed::StaticModel;
use proem_select::embedding::{Embedder as _, Vector};

struct Golden {
    text: &'static str,
    tokens: &'static [u32],
    coordinates: Option<[f32; 4]>,
}

const GOLDEN: &[Golden] = &[
    Golden {
        text: "fix the flaky test",
        tokens: &[6195, 110, 11217, 2931, 214, 1345],
        coordinates: Some([0.1171031, -0.0781153, 0.0137754, 0.0112477]),
    },
    Golden {
        text: "Find the customer's last invoice (PDF) and e-mail it to accounting@example.com!",
        tokens: &[
            538, 110, 6127, 7, 56, 311, 113, 4881, 4724, 8, 9246, 9, 112, 42, 13, 3767, 123, 114, 7642, 32, 856, 14,
            2126, 1,
        ],
        coordinates: Some([0.1857867, -0.0306331, 0.1208076, -0.0449601]),
    },
    Golden {
        text: "getUserByID",
        tokens: &[245, 18411, 1876, 1707],
        coordinates: Some([0.0325202, 0.0843254, -0.0631053, -0.0589682]),
    },
    Golden {
        text: "unaffable internationalization of tokenizers",
        tokens: &[12583, 19042, 1582, 362, 2103, 111, 17290, 15721, 129],
        coordinates: Some([0.0494116, -0.0097779, -0.0302867, 0.0169444]),
    },
    Golden {
        text: "Größe der Straßenbahn ändern",
        tokens: &[22736, 194, 15591, 2429, 472, 25868, 25759, 2544, 192, 112, 9905],
        coordinates: Some([-0.2966551, 0.189_509, -0.0312772, 0.0185731]),
    },
    Golden {
        text: "Où est la bibliothèque ? Ça va.",
        tokens: &[13172, 7878, 588, 10279, 14655, 23253, 3483, 2340, 31, 4301, 10545, 14],
        coordinates: Some([0.0471561, 0.0639195, -0.012760, 0.0001113]),
    },
    Golden {
        text: "A reunião foi adiada para amanhã às 15h30",
        tokens: &[38, 242, 17580, 5227, 43, 8559, 25196, 6560, 9609, 23998, 23379, 164, 118, 435, 346, 12250],
        coordinates: Some([0.0009076, 0.1767663, -0.027127, -0.0224593]),
    },
    Golden {
        text: "¿Cuánto cuesta el envío a España?",
        tokens: &[95, 10840, 19715, 21468, 810, 1563, 2486, 23568, 38, 18759, 31],
        coordinates: Some([-0.0092728, 0.0978068, 0.0204182, 0.0073225]),
    },
    Golden { text: "請幫我翻譯這份文件", tokens: &[], coordinates: None },
    Golden { text: "東京タワーの写真", tokens: &[], coordinates: None },
    Golden { text: "한국어 문장", tokens: &[], coordinates: None },
    Golden { text: "Обнови зависимости", tokens: &[], coordinates: None },
    Golden {
        text: "naïve café résumé",
        tokens: &[13843, 5782, 11854],
        coordinates: Some([0.2004489, 0.1208029, 0.0635197, 0.0012283]),
    },
    Golden {
        text: "nai\u{308}ve cafe\u{301}",
        tokens: &[13843, 5782],
        coordinates: Some([0.1252567, 0.1367765, 0.0276313, 0.0079519]),
    },
    Golden {
        text: "deploy 🚀 to prod",
        tokens: &[19377, 114, 2127, 208],
        coordinates: Some([0.3006531, -0.1257673, 0.0273789, -0.0384132]),
    },
    Golden { text: "🎉🎉", tokens: &[], coordinates: None },
    Golden { text: "", tokens: &[], coordinates: None },
    Golden { text: "   \u{9}\u{a}", tokens: &[], coordinates: None },
    Golden {
        text: "\u{0}a\u{0}b\u{0}",
        tokens: &[9224],
        coordinates: Some([0.0219347, -0.0274184, -0.0073116, 0.0548367]),
    },
    Golden {
        text: "snake_case-and.dots/paths\\C:",
        tokens: &[5602, 36, 667, 13, 112, 14, 13085, 15, 8536, 33, 40, 26],
        coordinates: Some([0.0435814, -0.068156, -0.0579011, 0.0222083]),
    },
    Golden {
        text: "price: 30°C ≥ £5½",
        tokens: &[2090, 26, 496, 5851, 392, 25874, 11822],
        coordinates: Some([0.0376498, -0.0467395, -0.0578837, -0.0499001]),
    },
    Golden { text: "ﬁne Ⅳ ＡＢＣ", tokens: &[], coordinates: None },
    Golden {
        text: "soft\u{ad}hyphen zero\u{200b}width \u{feff}bom",
        tokens: &[1844, 8647, 6571, 482, 3831, 7261, 10036, 346, 7058, 327],
        coordinates: Some([-0.0333863, -0.0718533, -0.0163897, 0.0557357]),
    },
    Golden {
        text: "İstanbul ΣΊΣΥΦΟΣ",
        tokens: &[8073],
        coordinates: Some([-0.0076097, 0.131_902, -0.0710241, 0.0405852]),
    },
    Golden {
        text: "[UNK] [CLS] ##ing",
        tokens: &[3009, 357, 34, 16945, 129, 34, 3, 3, 11857],
        coordinates: Some([0.1051033, 0.0011133, 0.0165564, 0.0065816]),
    },
    Golden {
        text: "line\u{2028}two\u{a0}three\u{3000}four",
        tokens: &[354, 162, 207, 290],
        coordinates: Some([0.1951567, -0.0927192, 0.0000423, 0.0369886]),
    },
    Golden { text: "\u{301}\u{308}", tokens: &[], coordinates: None },
    Golden {
        text: "ह\u{93f}न\u{94d}द\u{940} म\u{947}\u{902} ल\u{93f}ख\u{94b}", tokens: &[], coordinates: None
    },
];

/// The model that ships is taken as it is, so what reading a file checks is checked here.
#[test]
fn the_model_that_ships_passes_every_check() {
    let file = StaticModel::load(include_bytes!("../../data/static-1.bin")).unwrap();
    file.verify().unwrap();
    let built_in = StaticModel::built_in().unwrap();
    assert_eq!(
        (built_in.model(), built_in.rows(), built_in.dimension()),
        (file.model(), file.rows(), file.dimension())
    );
    assert_eq!(built_in.tokens(&"word ".repeat(100)), file.tokens(&"word ".repeat(100)));
}

#[test]
fn tokens_and_vectors_are_those_of_the_reference() {
    let model = StaticModel::built_in().unwrap();
    for Golden { text, tokens, coordinates } in GOLDEN {
        assert_eq!(model.tokens(text), *tokens, "{text:?}");
        let vector = model.embed(&[text]).unwrap().remove(0);
        let found = vector.map(|vector| [0, 1, 128, 255].map(|index| vector.values()[index]));
        assert_eq!(found.is_some(), coordinates.is_some(), "{text:?}");
        for (found, expected) in found.iter().flatten().zip(coordinates.iter().flatten()) {
            assert!((found - expected).abs() < 2e-6, "{text:?}: {found} {expected}");
        }
    }
}

#[test]
fn a_word_of_100_characters_is_the_longest() {
    let model = StaticModel::built_in().unwrap();
    assert_eq!(model.tokens(&"x".repeat(100)).len(), 50);
    assert_eq!(model.tokens(&format!("{} short", "x".repeat(101))), [574]);
    assert_eq!(model.tokens(&format!("{}-short", "é".repeat(101))), [13, 574]);
}

#[test]
fn rows_are_as_near_as_their_cosines_say() {
    let model = StaticModel::built_in().unwrap();
    let (cat, dog, cats) = (3051, 2013, 6983);
    assert_eq!([cat, dog, cats].map(|row| model.token(row).unwrap()), ["cat", "dog", "cats"]);
    assert_eq!(model.token(189), Some("##ing"));
    for (a, b, expected) in [(cat, dog, 0.507_168_33), (cat, cats, 0.880_770_75), (cat, cat, 1.0), (0, cat, 0.0)] {
        assert!((model.similarity(a, b) - expected).abs() < 1e-6, "{a} {b}: {}", model.similarity(a, b));
    }
}

#[test]
fn texts_of_one_meaning_are_nearer_than_others() {
    let model = StaticModel::built_in().unwrap();
    let texts = ["fix the flaky test", "repair an unreliable unit test", "banana bread recipe"];
    let vectors: Vec<Vector> = model.embed(&texts).unwrap().into_iter().flatten().collect();
    let [a, b, c] = vectors.as_slice() else { panic!("a text without a vector") };
    assert!(a.cosine(b).unwrap() > 0.3 && a.cosine(c).unwrap() < 0.1, "{:?} {:?}", a.cosine(b), a.cosine(c));
}

#[test]
fn the_built_in_file_is_whole_and_names_its_model() {
    let model = StaticModel::built_in().unwrap();
    model.verify().unwrap();
    assert_eq!((model.rows(), model.dimension()), (27_729, 256));
    assert_eq!(model.model().as_str(), "proem-static-1-3165c114");
}
