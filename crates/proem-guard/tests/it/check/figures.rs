//! Figures in texts that would go out by themselves: those that somebody pays or calls are found in whatever form, and
//! those of ordinary project mail are not.

use super::{Setup, TEXT};

/// Amounts, accounts, cards, addresses of currencies and numbers of phones, each in a form of its own.
const HOSTILE: &[&str] = &[
    // Amounts.
    "TEUR 150",
    "150 TEUR",
    "kEUR 150",
    "150 T€",
    "MEUR 1,5",
    "150 kUSD",
    "1,5 Mio. Euro",
    "1,5 Mio. EUR",
    "1.5 Mio €",
    "EUR 1,5 Mio.",
    "2 Mrd. Euro",
    "150 Tsd. Euro",
    "150.000,- Euro",
    "150.000,– €",
    "Euro: 150.000",
    "(EUR) 150.000",
    "150 [EUR]",
    "150\nEUR",
    "EUR | 150",
    "einhundertfünfzig Tausend Euro",
    "einhundertfünfzigtausend Euro",
    "dreißig Tausend Franken",
    "zwei Millionen Dollar",
    "anderthalb Millionen Euro",
    "two hundred and fifty thousand dollars",
    "half a million euros",
    "fifty grand in pounds, fifty pounds",
    "a million bucks",
    "deux cent mille euros",
    "1,5 million d'euros",
    "vingt-cinq mille francs",
    "ciento cincuenta mil euros",
    "dos millones de dólares",
    "3 millones de pesos",
    "cento e cinquenta mil reais",
    "2 milhões de reais",
    "centocinquantamila euro",
    "due milioni di euro",
    "honderdvijftig duizend euro",
    "anderhalf miljoen euro",
    "сто пятьдесят тысяч евро",
    "150 тыс. рублей",
    "1,5 млн долларов",
    "पचास हज़ार रुपये",
    "5 लाख रुपये",
    "₹5 lakh",
    "Rs. 500000",
    "مئة وخمسون ألف دولار",
    "150 ألف يورو",
    "yüz elli bin euro",
    "150 bin avro",
    "150 bin TL",
    "seratus lima puluh juta rupiah",
    "Rp 150.000.000",
    "một trăm năm mươi triệu đồng",
    "150 triệu VND",
    "หนึ่งแสนห้าหมื่นบาท",
    "150 ล้านบาท",
    "পঞ্চাশ হাজার টাকা",
    "isang milyon piso",
    "sto pięćdziesiąt tysięcy złotych",
    "150 tys. zł",
    "εκατόν πενήντα χιλιάδες ευρώ",
    "一百五十万欧元",
    "150万元",
    "人民币150万",
    "百五十万円",
    "150万円",
    "100万ドル",
    "십오만 달러",
    "150만 원",
    "오십만원",
    "2 ETH",
    "500 USDT",
    "five hundred USDC",
    "fifty thousand satoshis",
    "T\u{200b}E\u{200b}U\u{200b}R 150",
    "１５０ ＴＥＵＲ",
    // Phones.
    "1-800-FLOWERS",
    "1 (800) FLOWERS",
    "1 800 FLOWERS",
    "1.800.GOFEDEX",
    "+1-800-GO-FEDEX",
    "1-900-call-now",
    "800-FLOWERS",
    "0800-FLOWERS",
    "0800 FLOWERS",
    "1800FLOWERS",
    "1-800-FLOWERS-24",
    "null drei null sieben sechs fünf vier drei",
    "oh two oh seven nine four six oh",
    "zéro six un deux trois quatre cinq six",
    // Accounts and cards.
    "DE89 3704 0044 0532 0130 00",
    "de89370400440532013000",
    "De89.3704.0044.0532.0130.00",
    "DE89_3704_0044_0532_0130_00",
    "DE89\n3704\n0044\n0532\n0130\n00",
    "D E 8 9 3 7 0 4 0 0 4 4 0 5 3 2 0 1 3 0 0 0",
    "GB82 WEST 1234 5698 7654 32",
    "NO93/8601/1117/947",
    "Konto 123 456",
    "Konto-Nr.: 123456",
    "account no. 12 34 56",
    "sort code 20-00-00, account 123456",
    "cuenta 123 456",
    "счёт 123 456",
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "4111_1111_1111_1111",
    "4111·1111·1111·1111",
    "4111\n1111\n1111\n1111",
    "Nr4111111111111111",
    "3782 822463 10005",
    "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    "4,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
    // Addresses of currencies.
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "1A1z P1eP 5QGe fi2D MPTf TL5S Lmv7 Divf Na",
    "1A1z-P1eP-5QGe-fi2D-MPTf-TL5S-Lmv7-Divf-Na",
    "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
    "send it to:1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2.",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    "BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ",
    "bc1q ar0s rrr7 xfkv y5l6 43ly dnw9 re59 gtzz wf5m dq",
    "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr",
    "0xde0B295669a9FD93d5F28D9Ec85E40f4cb697BAe",
    "0Xde0b295669a9fd93d5f28d9ec85e40f4cb697bae",
    "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
    "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
    "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh",
    "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
    "LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1",
    "7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs",
    "888tNkZrPN6JsEgekjMnABU4TBzc2Dt29EPAvkRxbANsAnjyPbb3iQ1YBRk1UXcdRsiKc9dhwMVgN5S9cQUiyoogDavup3H",
    "MUExelAxZVA1UUdlZmkyRE1QVGZUTDVTTG12N0RpdmZOYQ==",
];

/// Lines of ordinary project mail.
const HARMLESS: &[&str] = &[
    "The review is on 2026-11-22 at 10:30.",
    "We meet on 22.11.2026, 14:00 to 15:30 in room 4.12.",
    "Version 3.14.159 ships with the fix; 3.14.158 is withdrawn.",
    "v2.0.0-rc.1 is tagged, the build took 12 min 30 s.",
    "ABC-1234 and ABC-1235 are done, ABC-1236 waits for review.",
    "Sprint 42: 34 of 40 points, velocity 31.5.",
    "Story points: 1, 2, 3, 5, 8, 13.",
    "3 of 5 tests fail since Monday; coverage is 81.4 %.",
    "The pool has 16 GB of memory and 8 cores.",
    "PR #1234 has 12 comments and 3 approvals.",
    "Latency fell from 250 ms to 90 ms at the 99th percentile.",
    "Error 404 on page 3, error 500 on page 7.",
    "The load test ran with 2000 users for 45 minutes.",
    "See section 4.2.1 of the specification (RFC 5322, RFC 8601).",
    "We moved 1,200 tickets in 3 batches of 400.",
    "Two thousand tests in three suites pass.",
    "One blocker, two risks and four open questions remain.",
    "The deadline moves by ten days, to 3 December.",
    "ISO 27001 audit in Q3 2026; ISO 9001 in Q4.",
    "Commit da39a3ee5e6b4b0d3255bfef95601890afd80709 broke the build.",
    "Build 4711 is green on Ubuntu 24.04, red on Windows 11.",
    "The euro zone release goes first, the dollar one follows.",
    "Cost centre and budget are unchanged this quarter.",
    "The account team meets at 9.",
    "Please rename the account page; see UX-12.",
    "Our account manager joins in week 48.",
    "0900 UTC works for the Tokyo office, 0800 CEST for Berlin.",
    "800 GB of logs were removed, 1 TB is left.",
    "800 ERRORS in the log since noon",
    "HTTP 200 OK, HTTP 302 FOUND and HTTP 401 UNAUTHORIZED appear.",
    "The team won 3 of 4 deals, with two real issues open.",
    "I am on call one week in six.",
    "Phase one, phase two and phase three are planned.",
    "Step 1 of 10: read the guide.",
    "UTF-8, SHA-256, AES-128 and TLS 1.3 are required.",
    "mark 5 items as done and try 2 more",
    "Das Review ist am 22.11.2026 um 14:30 Uhr in Raum 3.07.",
    "Sprint 12 hatte 34 Punkte, davon 29 erledigt (85 %).",
    "Ich bin um 9 Uhr da, zwei Tickets sind offen.",
    "Drei von fünf Tests schlagen fehl, ein Blocker bleibt.",
    "Der Euro-Raum kommt in Phase 2, die Schweiz in Phase 3.",
    "Hundert Tickets in zehn Tagen, das waren tausend Kommentare.",
    "Das Konto-Modul ist fertig, 12 Fehler sind behoben.",
    "Bitte bis KW 48 erledigen, spätestens am 30. November.",
    "La réunion est le 22 novembre 2026 à 14 h 30.",
    "Trois tickets sur cinq sont fermés, le sprint a 34 points.",
    "Cent tests passent, deux cents restent; mille mercis.",
    "Le compte rendu est en ligne, page 12.",
    "La revisión es el 22/11/2026 a las 14:30.",
    "Cinco de ocho tareas están hechas, mil gracias.",
    "A reunião é às 14:30, com 12 pessoas.",
    "Sete de dez testes passam, mil obrigados.",
    "La riunione è il 22.11.2026 alle 14:30, mille grazie.",
    "Il conto alla rovescia: 12 giorni al rilascio.",
    "De vergadering is op 22-11-2026 om 14.30 uur.",
    "Drie van de vijf testen slagen, duizend keer dank.",
    "Встреча 22.11.2026 в 14:30, три задачи из пяти готовы.",
    "Сто тестов прошли, тысяча строк удалена.",
    "बैठक 22.11.2026 को 14:30 बजे है, तीन काम बाकी हैं।",
    "الاجتماع يوم 22.11.2026 الساعة 14:30، وثلاث مهام باقية.",
    "Toplantı 22.11.2026 saat 14:30, beş görevden üçü bitti.",
    "Rapat pada 22-11-2026 pukul 14:30, tiga tugas selesai.",
    "Cuộc họp ngày 22/11/2026 lúc 14:30, ba việc đã xong.",
    "ประชุมวันที่ 22/11/2026 เวลา 14:30 มีสามงานที่เสร็จ",
    "会议在2026年11月22日14:30，五个任务完成了三个。",
    "会議は2026年11月22日14時30分、元の計画より三日遅れ。",
    "회의는 2026년 11월 22일 14시 30분, 지원 요청 3건이 있습니다.",
    "Spotkanie 22.11.2026 o 14:30, trzy zadania z pięciu gotowe.",
    "Η συνάντηση είναι στις 22/11/2026, ώρα 14:30.",
];

#[test]
fn figures_that_somebody_pays_or_calls_are_found_in_every_form() {
    let setup = Setup::trusting("Write about the release.");
    let passing: Vec<&str> = HOSTILE
        .iter()
        .copied()
        .filter(|figure| {
            ["{}", "Please pay {} today.", "Ruf an oder zahle: {}", "{}, bitte"].iter().any(|frame| {
                let text = frame.replace("{}", figure);
                let broken = setup.broken(TEXT, &text);
                !broken.iter().any(|rule| rule.starts_with("amount-") || rule.starts_with("number-"))
            })
        })
        .collect();
    assert!(HOSTILE.len() >= 60 && passing.is_empty(), "{passing:#?}");
}

#[test]
fn figures_of_ordinary_mail_pass() {
    let setup = Setup::trusting("Write about the release.");
    let refused: Vec<(&str, Vec<&str>)> = HARMLESS
        .iter()
        .map(|line| (*line, setup.broken(TEXT, line)))
        .filter(|(_, broken)| !broken.is_empty())
        .collect();
    assert!(HARMLESS.len() >= 60 && refused.is_empty(), "{refused:#?}");
}

#[test]
fn a_trusted_code_vouches_for_itself_alone() {
    let iban = "DE89 3704 0044 0532 0130 00";
    let setup =
        Setup::trusting(&format!("Pay to {iban} or call 1-800-FLOWERS, or 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa."));
    for (text, passes) in [
        (iban, true),
        ("DE89370400440532013000", true),
        ("1-800-FLOWERS", true),
        ("1 800 FLOWERS", true),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", true),
        ("DE75 5121 0800 1245 1261 99", false),
        ("1-800-FLOWERZ", false),
        ("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", false),
    ] {
        assert_eq!(setup.broken(TEXT, text).is_empty(), passes, "{text}");
    }
}

#[test]
fn words_beside_a_trusted_amount_make_another() {
    let setup = Setup::trusting("It costs EUR 12 and €150.");
    for text in
        ["It is EUR 12.", "12 € and 14 tests", "EUR 12, two of three tests", "14: EUR 12", "€150 and one blocker"]
    {
        assert_eq!(setup.broken(TEXT, text), [""; 0], "{text}");
    }
    for text in [
        "zwei Millionen Euro 12",
        "EUR 12 Mio.",
        "€150 thousand",
        "EUR 12 tausend",
        "150 Tsd. EUR 12",
        "T€ 150",
        "€150k",
    ] {
        assert!(!setup.broken(TEXT, text).is_empty(), "{text}");
    }
}
