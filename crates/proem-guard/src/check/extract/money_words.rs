//! Words for currencies and numbers, in the languages of the lexicon, and in Polish and Greek.
//!
//! Words are folded: lower case, and without accents in Latin, Greek and Cyrillic. Words that mean something else in
//! ordinary project mail (`real`, `won`, `mark`) are left out.

use alloc::{collections::BTreeMap, string::String};
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::super::amount;

/// The longest word that is looked at, in bytes: numbers are written in one word in German.
const LONGEST: usize = 96;

/// Words and codes for currencies that [`amount::SIGNS`] lacks: no amount with one has a canonical form.
const CURRENCIES: &str = "euroen eurot euros eurolla avro evro евро евров ευρω यूरो يورو ইউরো teuro \
    dollaro dollari dolar dolares dolari dolary dolarow dolara dollarn dollaria доллар доллара доллары долларов доллару \
    баксов бакса डॉलर डालर دولار دولارات دولارا ডলার dolyar dolarlik \
    libras sterline sterlina sterlinas pfund pond фунт фунта фунтов पाउंड جنيه পাউন্ড \
    rubel rubels roubles rubles ruble rublos rubli roebel рубль рубля рублеи рублю руб rupien roupies rupias rupie \
    rupee रुपये रुपया रुपए टका টাকা taka rupiah renminbi rmb reais pesos peso piso lira lirasi liras lire baht dong vnd \
    riyal riyals rial rials ريال dirham dirhams درهم dinar dinars dinara دينار franchi franco francos frank franc \
    zloty zlotych zlote zlotys korun koruny kronor kroner krone forint hryvnia гривен гривна ringgit shekel shekels \
    centimes centesimi centavos centimos копеек stutz eurocent \
    bitcoins satoshi satoshis sats ether usdt usdc xrp xmr monero ltc litecoin doge dogecoin tether \
    pln sek nok dkk czk huf inr jpy cny rub brl aud cad nzd sgd hkd krw idr thb zar ils aed sar egp mxn ars uah";

/// Words that multiply a number.
const MAGNITUDES: &str = "k m mn mm b bn tn t hundred hundreds thousand thousands million millions billion billions \
    trillion trillions lakh lakhs crore crores grand hundert tausend tsd mio mill million millionen mrd milliarde \
    milliarden md mds cent cents mille millier milliers milliard milliards mil millon millones milhao milhoes mi bilhao \
    bilhoes bi mila milione milioni miliardo miliardi mld mln honderd duizend miljoen miljard тыс тысяча тысячи тысяч \
    тысячу млн миллион миллиона миллионов млрд миллиард миллиарда миллиардов हजार हज़ार हज़ार लाख करोड़ करोड़ सौ hazar \
    hazaar হাজার লাখ লক্ষ কোটি শত الف ألف آلاف الاف مليون مليونا ملايين مليار bin milyon milyar yuz ribu juta miliar \
    triliun jt rb nghin ngan trieu ty tram libo milyon tys tysiac tysiace tysiecy milion miliony milionow miliard \
    χιλιαδες χιλ εκατομμυριο εκατομμυρια εκατ dozen dozens dutzend 千 万 萬 亿 億 만 억";

/// The parts of words for numbers.
const NUMBERS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand \
    null ein eins eine einen zwei zwo drei vier funf sechs sieben acht neun zehn elf zwolf sech sieb zwan zig ßig ssig \
    hundert tausend un une deux trois quatre cinq sept huit neuf dix onze douze treize quatorze quinze seize vingt \
    vingts trente quarante cinquante soixante septante huitante nonante cent cents mille uno una dos tres cuatro cinco \
    seis siete ocho nueve diez once doce trece catorce quince dieci veinte veinti treinta cuarenta cincuenta sesenta \
    setenta ochenta noventa cien ciento cientos cientas quinientos um uma dois duas quatro sete oito nove dez treze \
    dezesseis dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta oitenta cem cento duzentos trezentos \
    quinhentos centos mil due tre quattro cinque sei sette otto dieci undici dodici tredici quattordici quindici sedici \
    dici venti vent trenta trent quaranta cinquanta sessanta settanta ottanta novanta mila een twee vijf zes zeven negen \
    tien twaalf dertien veertien vijftien twintig dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend \
    ноль один одна одну два две три четыре пять шесть семь восемь девять десять надцать двадцать тридцать сорок \
    пятьдесят шестьдесят семьдесят восемьдесят девяносто сто двести триста четыреста сот ста дцать десят тысяч тысяча \
    тысячи एक दो तीन चार पांच पाँच छह सात आठ नौ दस बीस तीस चालीस पचास साठ सत्तर अस्सी नब्बे सौ ek teen paanch das bees \
    pachas sau واحد اثنان ثلاثة ثلاث اربعة اربع أربعة أربع خمسة خمس ستة ست سبعة سبع ثمانية ثمان تسعة تسع عشرة عشر عشرون \
    عشرين ثلاثون ثلاثين اربعون أربعون أربعين خمسون خمسين ستون سبعون ثمانون تسعون مئة مائة مئتا مئتان مئتين ألفان ألفين \
    bir iki uc dort bes alti yedi sekiz dokuz yirmi otuz kirk elli altmis yetmis seksen doksan yuz satu dua tiga empat \
    lima enam tujuh delapan sembilan sepuluh sebelas belas puluh ratus seratus seribu mot hai bon nam sau bay tam chin \
    muoi tram isa isang dalawa dalawang tatlo tatlong apat anim pito walo siyam sampu sampung daan daang \
    এক দুই তিন চার পাঁচ ছয় সাত আট নয় দশ বিশ পঞ্চাশ শত jeden dwa trzy cztery piec szesc siedem osiem dziewiec dziesiec \
    dwadziescia trzydziesci czterdziesci dziesiat sto dwiescie trzysta piecset set nascie ενα δυο τρια τεσσερα πεντε δεκα \
    εικοσι τριαντα πενηντα εκατο εκατον διακοσια χιλια";

/// The words that join words for numbers, and are none.
const JOINTS: &str = "und and et y e en и و ve dan va i a de di d of";

/// The words for one digit, which numbers can be told with.
const DIGITS: &str = "zero oh one two three four five six seven eight nine null eins zwei zwo drei vier funf sechs sieben \
    acht neun un deux trois quatre cinq six sept huit neuf cero uno dos tres cuatro cinco seis siete ocho nueve um dois \
    quatro sete oito nove due tre quattro cinque sei sette otto nul een twee vijf zes zeven negen ноль нуль один два три \
    четыре пять шесть семь восемь девять शून्य एक दो तीन चार पांच पाँच छह सात आठ नौ صفر واحد اثنان ثلاثة اربعة أربعة خمسة \
    ستة سبعة ثمانية تسعة sifir bir iki uc dort bes alti yedi sekiz dokuz nol satu dua tiga empat lima enam tujuh delapan \
    sembilan khong mot hai ba bon nam sau bay tam chin isa dalawa tatlo apat anim pito walo siyam শূন্য এক দুই তিন চার \
    পাঁচ ছয় সাত আট নয় jeden dwa trzy cztery piec szesc siedem osiem dziewiec μηδεν ενα δυο τρια";

/// Words before the number of an account.
const ACCOUNTS: &str = "account acct konto kontonummer kontonr kto kontoverbindung blz bankleitzahl iban bic swift routing \
    compte cuenta conta conto rekening rekeningnummer счет счета счете खाता حساب hesap account-no accountnumber rachunek \
    λογαριασμος হিসাব";

/// A word as it is compared.
pub(super) fn fold_money_word(word: &str) -> String {
    let mut folded = String::new();
    for c in word.chars().take(LONGEST).flat_map(char::to_lowercase) {
        match c {
            'đ' => folded.push('d'),
            'ł' => folded.push('l'),
            'ı' => folded.push('i'),
            '\u{300}'..='\u{36f}' => {}
            '\u{c0}'..='\u{52f}' | '\u{1e00}'..='\u{1fff}' => {
                decompose_canonical(c, |part| {
                    if !is_combining_mark(part) {
                        folded.push(part);
                    }
                });
            }
            c => folded.push(c),
        }
    }
    folded
}

/// The senses of a word beside a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WordSenses {
    /// A currency that has a canonical form.
    pub(super) is_plain_currency: bool,
    /// A currency without one, or a multiple of one: `teur`.
    pub(super) is_currency: bool,
    /// It multiplies a number.
    pub(super) is_magnitude: bool,
    /// It joins words for numbers.
    pub(super) is_joint: bool,
    /// The word for one digit.
    pub(super) is_digit: bool,
    /// It is before the number of an account.
    pub(super) is_account: bool,
}

/// All words but those that numbers are put together of.
#[derive(Debug)]
pub(super) struct MoneyWords(BTreeMap<&'static str, WordSenses>);

impl MoneyWords {
    pub(super) fn new() -> Self {
        let mut words: BTreeMap<&'static str, WordSenses> = BTreeMap::new();
        for (sign, _) in amount::SIGNS.iter().filter(|(sign, _)| sign.len() > 2 && sign.is_ascii()) {
            words.entry(sign).or_default().is_plain_currency = true;
        }
        let mut add = |list: &'static str, sense: fn(&mut WordSenses)| {
            list.split_ascii_whitespace().for_each(|word| sense(words.entry(word).or_default()));
        };
        add(CURRENCIES, |senses| senses.is_currency = true);
        add(MAGNITUDES, |senses| senses.is_magnitude = true);
        add(JOINTS, |senses| senses.is_joint = true);
        add(DIGITS, |senses| senses.is_digit = true);
        add(ACCOUNTS, |senses| senses.is_account = true);
        Self(words)
    }

    /// The senses of a folded word.
    pub(super) fn senses(&self, word: &str) -> WordSenses {
        let mut senses = self.0.get(word).copied().unwrap_or_default();
        let is_multiple =
            || MULTIPLES.iter().any(|multiple| word.strip_prefix(multiple).is_some_and(|code| CODES.contains(&code)));
        senses.is_currency = senses.is_currency || is_multiple();
        senses
    }
}

/// Whether a folded word represents a thousand and the like where a sign follows it.
pub(super) fn is_multiple(word: &str) -> bool {
    MULTIPLES.contains(&word)
}

/// The multiples before the code of a currency in `TEUR`, and those codes.
const MULTIPLES: [&str; 9] = ["t", "k", "m", "b", "mio", "mrd", "tsd", "mn", "bn"];
const CODES: [&str; 9] = ["eur", "euro", "usd", "chf", "gbp", "pln", "sek", "czk", "jpy"];

/// Whether a folded word is a number, put together of as many parts as it likes.
pub(super) fn is_number_word(word: &str) -> bool {
    if word.is_empty() || word.len() > LONGEST || JOINTS.split_ascii_whitespace().any(|joint| joint == word) {
        return false;
    }
    // The places that parts lead to from the start. Parts are short, and so is the word.
    let mut reached = alloc::vec![0_usize];
    let mut next = 0_usize;
    while let Some(&at) = reached.get(next) {
        next = next.saturating_add(1);
        let rest = word.get(at..).unwrap_or_default();
        let lists = [NUMBERS, MAGNITUDES, "und en e y و ve"];
        for part in lists.into_iter().flat_map(str::split_ascii_whitespace).filter(|part| rest.starts_with(*part)) {
            // One letter is a part of nothing but an abbreviation.
            let end = at.saturating_add(part.len());
            let is_short = part.len() < 2 && (end < word.len() || at == 0) && part != "e" && part != "y";
            if !is_short && !reached.contains(&end) {
                reached.push(end);
            }
        }
    }
    reached.contains(&word.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_word_is_written_as_it_is_compared() {
        let lists = [CURRENCIES, MAGNITUDES, NUMBERS, JOINTS, DIGITS, ACCOUNTS];
        let other: Vec<&str> = lists
            .into_iter()
            .flat_map(str::split_ascii_whitespace)
            .filter(|word| fold_money_word(word) != *word)
            .collect();
        assert_eq!(other, [""; 0]);
    }
}
