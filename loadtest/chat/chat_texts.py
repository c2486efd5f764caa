"""Users, rooms and texts of the generated conversation."""

from __future__ import annotations

USERS = (
    "amelie", "Zoë", "bjørn", "Олена", "美咲", "نور", "dávid", "Ἑλένη", "priya", "सीमा", "jun_ho", "한결", "tomás",
    "Łukasz", "שירה", "ploy", "นภา", "kwame", "mở", "Ağaoğlu", "o'neill", "|rook|", "sven[away]", "🦊fox",
)  # fmt: skip

ROOMS: dict[str, tuple[str, ...]] = {
    "mill-race": ("the sluice gate", "the water wheel", "the old weir", "the bearing", "the footbridge"),
    "night-trains": ("the sleeper to Graz", "the buffet car", "platform 9", "the ferry link", "carriage 261"),
    "allotment": ("the tomatoes", "the compost", "the frost cloth", "the bean poles", "the slugs", "the greenhouse"),
    "bakery-shift": ("the rye starter", "the oven", "the croissants", "the flour order", "table four", "the proofer"),
    "chess-club": ("the endgame", "board two", "the Caro-Kann", "the clock", "the bishop pair", "round five"),
}  # fmt: skip

PLACES = ("by the gate", "in Lyon", "at Ōsaka station", "behind the shed", "in the shared folder", "near the canal")
TIMES = ("tonight", "at half past six", "on Thursday", "after lunch", "in ten minutes", "before the rain")

OPENERS = (
    "quick question about {thing}: who had it last?",
    "I'm going to check {thing} {time}. Want to come, {other}?",
    "{other}: did you ever sort out {thing}?",
    "ok so. {thing}. we need to talk 😅",
    "reminder: {thing}, {time}, {place}. Bring gloves.",
    "Можно ли перенести {thing}? {time} не получится",
    "{thing} について、誰か知っていますか？",
)

REPLIES = (
    "yes, looked fine when I left",
    "{other} knows more about that than I do",
    "+1",
    "haha no 😂",
    "thanks {other}, that's exactly what I needed",
    "👍🏽",
    "d'accord, à tout à l'heure",
    "شكرا جزيلا",
    "ありがとう！助かりました",
    "좋아요, 그때 봐요",
    "תודה רבה!",
    "ขอบคุณค่ะ",
    'who wrote this label? it says "do not" and then nothing',
    "see you there {other} 🙌",
)

ODD = (
    "tab\there, and two  spaces, and a trailing one ",
    "a line\nand another line",
    "family: 👨‍👩‍👧‍👦 flag: 🏴󠁧󠁢󠁳󠁣󠁴󠁿 keycap: 4️⃣",
    "z̸̢a̵l̷g̶o̸ says hello to {other}",
    "e\u0301 is not é for a computer",
    "{\"json\": [\"in\", \"a\", \"message\"], \"n\": 1}",
    "<script>alert('no')</script> & <b>bold</b>",
    "'; DROP TABLE rooms; -- sorry, wrong window",
    "bell \a backspace \b escape \x1b[31mred\x1b[0m done",
    "‮right to left override‬ and back",
    "C:\\temp\\new\\table #channel #hash",
    "null",
    "0",
    "𝔣𝔯𝔞𝔨𝔱𝔲𝔯 and 𐍈 and 𠮷野家",
)  # fmt: skip

STORY = (
    "Long version, since {other} asked. When I came {place} there was no one, only {thing} and a note that said back "
    "soon. I waited, then I waited some more, then it began to rain the thin kind of rain. ",
    "So I had a look at {thing2} instead, which, you may remember, was last touched in the spring, and it went "
    "about as well as you would think. ",
    "By then it was dark, {thing} had started to make the noise again, and I called the first name on the list. ",
    "Anyway, it works now. If it stops, knock twice on the left side. Ещё раз: слева. もう一度：左側です。 ",
)
