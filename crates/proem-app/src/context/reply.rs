//! Whether a prompt is a task, or a reply in a conversation: "yes, the second", "commit it", "mach weiter".
//!
//! A table of words that have nothing to do with a repository recognises replies: answers, courtesies, questions to the
//! agent itself, and the small words of eleven languages. A task has other words as well.

use proem_text::normalise::without_accents;
use proem_text::words::search_words;

use super::candidates::{TaskCandidates, text_for_code};

/// So many words beside those of replies are a task, wherever they are.
const TASK: usize = 3;

/// Letters of a script that parts no words by spaces that count as one word.
const UNSPACED: usize = 3;

/// Words of replies, in lower case and without marks, by language: English, German, French, Spanish, Portuguese, Italian,
/// Dutch, Polish, Russian, Japanese, Chinese.
const REPLIES: [&str; 11] = [
    "a about again agree all also alright always an and another answer any anything apply approach approved are as ask back \
     be because been before best better both branch but by can cancel carry change changes clear commit commits continue \
     correct could debug did diff different do does doesn doing don done else enough everything exactly explain fail failed \
     fails fine finish first fix fixed fixes for forget forward found from further get give go going good got great had has have \
     he help here hm hmm how i idea if in instead is isn it its just keep know last later leave left let like ll lol longer look \
     looks main make makes master maybe me mean means mentioned merge message might mind more much my need never new next nice \
     no none nope not nothing now of off ok okay old on once one only open option or origin other our out over perfect please point pr \
     previous proceed pull push rather re ready really redo remember repeat report request rest retry revert review right run \
     save say second see should show shorter skip so some something sorry start status step still stop sure take tell test \
     tests thank thanks that the their them then there these they thing think third this those three to too tried try two \
     undo understand until up update us use used ve very wait want was way we well were what when where which who why will with \
     work working works would write wrong yeah yep yes yet you your",
    "aber alle alles also an auch auf aus bei beides bitte da dann danke das dein dem den der des die dies diese diesem diesen dieser dieses doch du ein eine \
     einen einfach einmal er es fertig frage fur ganz gar geht gehts gemacht genau gut hab habe hast hat hier ich im in ist ja \
     jetzt kannst kein keine klar kurz lass letzte letzten mach machen macht mal mehr mein mir mit nachste nachsten nein nicht nichts \
     nimm noch nochmal nun nur oder passt prima richtig sag schon schritt sein sie sieht sind so sollst stimmt super teste \
     tests tu tun und uns vielen vom von vorschlag war warte warum was weiter weitermachen wenn wie wieder will wir wo wurde \
     zeig zu zum zur zuruck zweite zweiten",
    "a ai alors apres arrete as au aussi autre avec avez bien bon ca ce cela ces c cest comme comment continue continuez d \
     dans de des deuxieme dis dois donc du elle en encore est et etape etre fais fait faites faut il j je juste l la le les lance \
     le mais me meme merci mieux moi mon montre n ne non nous on ou oui par parfait pas peux plait plus pour pourquoi premier \
     qu que quel quelle quoi refais reprends rien s sans se si sil son sont suis suite suivante sur ta te tests toi tout tu un \
     une va vas vas-y voici vous vrai y",
    "ahora al algo antes aqui asi bien bueno como con continua cual cuando de del despues di donde el ella en era eres es esa \
     ese eso esta este esto gracias hacer has hay haz hazlo he la las lo los mas me mejor mi muestra muy nada no nos o otra \
     otro para pero por porque primero puedes que quiero se segunda segundo si sigue siguiente sin son su sus tambien te todo \
     tu un una vale ver y ya",
    "a agora ai ainda antes ao as assim bem com como continua continue da das de depois do dos e ela ele em entao era essa \
     esse esta este eu fac faz fazer foi isso isto ja la mais mas me melhor mesmo meu mostra muito na nada nao nas no nos o \
     obrigado obrigada ok os ou outra outro para pela pelo pode podes por porque primeiro pronto proximo quando que quem \
     quero se segue segunda segundo sem ser seu sim so sua tambem te tem teste tudo um uma vai voce",
    "a adesso al alla allora anche ancora avanti bene c che chi ci come con continua cosa cosi da dai dal del della di dopo dove e \
     ecco era esatto fa fai fallo fare fatto gia gli grazie ha hai ho i il in io la le lo ma me meglio mi mostra molto ne nel \
     nella niente no noi non o ok ora passo per perche perfetto piu poi primo procedi prossimo puoi quale quando quello \
     questo se secondo sei si sono sua suo tu tutto un una va vai vuoi",
    "aan al alles als altijd andere beter bij daar dan dank dankje dat de dit doe doen door dus een en eerste er ga gaan gedaan \
     geen goed graag had heb hebt heeft het hier hij hoe ik in is ja je jij kan klopt kun laat laatste maak maar me mee meer met \
     mij mijn moet na naar nee niet niets nog nu of ok om onze ook op opnieuw over perfect prima stap toch toon tweede u uit van \
     veel verder volgende voor waar waarom wat we weer wel wie wil wij ze zien zijn zo zou",
    "a ale bo by byl byla co czy dalej dla dlaczego do dobra dobrze drugi druga dzieki dziekuje go i ich inny ja jak jaka jaki \
     jako je jego jej jest jestem jeszcze jeszcze juz kontynuuj krok ktora ktory lepiej ma mi mnie moj moze mozesz na nastepny nie \
     nic niech no o od ok on ona oraz po pokaz pod prosze przed raz rob sa sie super ta tak takze tam te teraz to tu ty tylko \
     w we wiec wszystko wyjasnij z za zeby zrob",
    "а без более бы был была были было быть в вам вас все всё вы где да дай дальше делай для до его ее если есть еще ещё же за и \
     из или им их к как какой когда который кто ли лучше мне можешь можно мой мы на надо не нет ничего но ну о об объясни он \
     она они оно от отлично первый по покажи пожалуйста понял почему продолжай просто с сделай сейчас снова со спасибо так \
     также там тебя то тогда только тот ты у уже хорошо хочу что чтобы шаг эта это этот я",
    "はい いいえ ありがとう お願いします お願い 続けて 続ける ください して した する これ それ あれ どう なぜ です ます もう一度 次 了解 大丈夫",
    "好的 好 是的 是 不是 不 谢谢 请 继续 提交 可以 这个 那个 什么 为什么 怎么 再 试 一次 下一步 第二 第一 没问题 对 吧 吗 了 的",
];

/// Whether a prompt is a task that what was found may help with: it has several words beside those of replies, or a name
/// of a program, or one such word that a file that was found or a definition in it is called by.
pub(crate) fn is_task(prompt: &str, found: &TaskCandidates) -> bool {
    if found.all().next().is_none() {
        return false;
    }
    let mut telling = unspaced_word_count(prompt);
    if telling >= TASK {
        return true;
    }
    for word in prompt.split_whitespace() {
        if is_program_name(word) {
            return true;
        }
        for part in search_words(word) {
            let lower = part.to_lowercase();
            if lower.chars().any(is_unspaced_letter) || is_of_replies(&lower) {
                continue;
            }
            telling = telling.saturating_add(1);
            if telling >= TASK || is_in_found_name(&lower, found) {
                return true;
            }
        }
    }
    false
}

/// Whether something in the prompt is a name of a program's or a place: `a_b`, `resetEntry`, `src/a.rs`, `f()`, `--flag`.
pub(crate) fn is_program_name(word: &str) -> bool {
    let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    let inner = |mark: char| bare.trim_matches(|c: char| !c.is_alphanumeric()).contains(mark);
    let mut pairs = bare.chars().zip(bare.chars().skip(1));
    bare.starts_with("--")
        || bare.contains('`')
        || bare.ends_with("()")
        || bare.contains("::")
        || ['_', '/', '.'].into_iter().any(inner)
        || pairs.any(|(c, next)| c.is_lowercase() && next.is_uppercase())
}

/// Whether a word says nothing of a repository.
pub(crate) fn is_of_replies(word: &str) -> bool {
    let is_short = word.len() < 3 && word.is_ascii();
    let plain = without_accents(word);
    is_short || replies().any(|reply| reply == word || reply == plain)
}

fn replies() -> impl Iterator<Item = &'static str> {
    REPLIES.iter().flat_map(|words| words.split_ascii_whitespace())
}

/// Whether a letter belongs to a script that parts no words by spaces: Chinese, Japanese.
const fn is_unspaced_letter(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// How many words the letters of such scripts in a prompt count as, without what replies consist of.
fn unspaced_word_count(prompt: &str) -> usize {
    let mut rest: String = prompt.chars().filter(|c| is_unspaced_letter(*c)).collect();
    let mut replies: Vec<&str> = replies().filter(|reply| reply.chars().all(is_unspaced_letter)).collect();
    replies.sort_by_key(|reply| std::cmp::Reverse(reply.len()));
    for reply in replies {
        rest = rest.replace(reply, "");
    }
    rest.chars().count().div_ceil(UNSPACED)
}

/// Whether a file that was found, or a definition that fits, has the word in its name.
fn is_in_found_name(word: &str, found: &TaskCandidates) -> bool {
    let has = |name: &str| name.to_lowercase().contains(word);
    found.all().any(|file| {
        has(&text_for_code(&file.path))
            || file.fitting.iter().filter_map(|at| file.symbols.get(*at)).any(|symbol| has(&symbol.name))
    })
}

#[cfg(test)]
mod tests {
    use proem_guard::Untrusted;
    use proem_select::context::FilePurpose;
    use proem_text::Label;

    use super::*;
    use crate::context::ContextFile;

    fn found(path: &str) -> TaskCandidates {
        let file = ContextFile {
            path: Untrusted::new(path.to_owned(), Label::trusted()),
            used_for: FilePurpose::Code,
            probability: 0.6,
            evidence: Vec::new(),
            symbols: Vec::new(),
            fitting: Vec::new(),
            ranked: Vec::new(),
            named_lines: Vec::new(),
            content: None,
        };
        TaskCandidates { code: vec![file], ..TaskCandidates::default() }
    }

    #[test]
    fn replies_are_no_tasks() {
        for reply in [
            "ok",
            "1",
            "yes, the second",
            "commit it",
            "run the tests again and commit",
            "thanks, that looks good to me",
            "please continue with the next step",
            "no, use the other approach you mentioned before",
            "can you explain what you just did?",
            "try again but keep it shorter",
            "what do you think is the best option here?",
            "push it to origin and open a pull request",
            "undo the last change",
            "I don't like it, please revert that",
            "show me the diff",
            "what is left to do?",
            "please fix the typo",
            "ja, mach weiter",
            "ja, bitte, und teste nochmal",
            "oui, vas-y et commit le tout",
            "sí, hazlo",
            "sim, continue",
            "sì, vai avanti",
            "ja, ga verder",
            "tak, kontynuuj",
            "да, продолжай",
            "はい、お願いします",
            "好的，继续",
            "",
            "…",
        ] {
            assert!(!is_task(reply, &found("src/application.rs")), "{reply}");
        }
    }

    #[test]
    fn tasks_are_tasks() {
        for task in [
            "fix the application",
            "why does res.redirect encode the url twice?",
            "the view cache is never cleared",
            "add an option to disable the etag",
            "rename parse_line",
            "make `run` faster",
            "look at src/a.rs",
            "Warum wird die URL bei redirect zweimal kodiert?",
            "El carrito pierde el cupón al pagar",
            "ユーザーのログイン処理が二回呼ばれる",
            "登录页面的验证码不刷新",
            "what happens with --color?",
            "resetEntry leaks",
        ] {
            assert!(is_task(task, &found("src/application.rs")), "{task}");
            assert!(!is_task(task, &TaskCandidates::default()), "{task}");
        }
    }
}
