"""The words that :mod:`~amusd_viz.training.prompts` puts together: only data."""

from __future__ import annotations

SUBJECTS = (
    *("volcanoes", "lightning", "honeybees", "the water cycle", "magnets", "vaccines", "yeast"),
    *("solar panels", "wind turbines", "earthquakes", "the human heart", "muscles", "memory"),
    *("sleep", "dreams", "coral reefs", "whales", "spiders", "migrating birds", "bats", "ants"),
    *("the moon's phases", "comets", "Saturn's rings", "satellites", "rockets", "telescopes"),
    *("microscopes", "lasers", "batteries", "electric motors", "steam engines", "bridges"),
    *("elevators", "clocks", "printing presses", "paper", "glass", "steel", "concrete", "soap"),
    *("cheese", "chocolate", "coffee", "tea", "bread", "salt", "sugar", "olive oil", "vinegar"),
    *("inflation", "interest rates", "taxes", "insurance", "the stock market", "budgets"),
    *("elections", "constitutions", "the United Nations", "trade", "unions", "patents"),
    *("the Roman Empire", "the Silk Road", "the Renaissance", "the French Revolution"),
    *("the Industrial Revolution", "ancient Egypt", "the Vikings", "the Ottoman Empire"),
    *("the Aztecs", "the Cold War", "the space race", "castles", "pirates", "the Olympic Games"),
    *("jazz", "the violin", "drums", "opera", "ballet", "film editing", "photography", "poetry"),
    *("watercolour painting", "sculpture", "pottery", "weaving", "origami", "calligraphy"),
    *("football", "tennis", "swimming", "running a marathon", "yoga", "rock climbing", "chess"),
    *("probability", "prime numbers", "fractions", "triangles", "graphs", "algorithms"),
    *(
        "databases",
        "the internet",
        "encryption",
        "search engines",
        "compilers",
        "operating systems",
    ),
    *("machine learning", "neural networks", "robots", "3D printing", "barcodes", "GPS"),
    *("recycling", "deserts", "rain forests", "glass frogs", "mushrooms", "mosses", "orchids"),
    *("tomatoes", "potatoes", "rice", "wheat", "apples", "bananas", "gardening", "bonsai trees"),
    *("dogs", "cats", "horses", "goats", "parrots", "turtles", "sharks", "octopuses", "penguins"),
    *("the immune system", "teeth", "the eye", "the ear", "digestion", "allergies", "fevers"),
    *("friendship", "courage", "honesty", "boredom", "curiosity", "jealousy", "patience", "luck"),
    *("remote work", "job interviews", "meetings", "deadlines", "teamwork", "leadership"),
    *("trains", "sailing boats", "airplanes", "submarines", "traffic lights", "roundabouts"),
    *("maps", "alphabets", "sign language", "dictionaries", "translation", "handwriting"),
    *("umbrellas", "zippers", "mirrors", "candles", "pencils", "bicycles", "toothbrushes"),
    *("winter", "thunderstorms", "fog", "snowflakes", "hurricanes", "rivers", "lakes", "caves"),
)

PEOPLE = (
    *("a retired sailor", "a young baker", "a shy librarian", "an old clockmaker", "two sisters"),
    *("a taxi driver", "a nurse on the night shift", "a farmer's daughter", "a lonely robot"),
    *("a street musician", "a boy who cannot sleep", "a beekeeper", "a lost tourist", "a king"),
    *("a detective", "a gardener", "a mountain guide", "a fox", "an apprentice wizard", "a pilot"),
    *("a teacher in a small town", "a chess champion", "a painter", "an astronaut", "a tailor"),
    *("twin brothers", "a fisherman", "a violin maker", "a postwoman", "a dragon", "a cook"),
    *("a mayor", "a carpenter", "a ghost", "a scientist", "a circus clown", "a grandmother"),
)

EVENTS = (
    *("finds an old map", "loses a ring", "hears music from an empty house", "misses a train"),
    *("receives a letter from the future", "adopts a stray dog", "wins a strange prize"),
    *("builds a boat", "wakes up in another century", "has to keep a secret", "learns to fly"),
    *("meets a talking bird", "repairs a broken radio", "plants a tree that never stops growing"),
    *("discovers a door in the garden", "forgets a name", "travels to the sea for the first time"),
    *("must cross a frozen lake", "opens a shop", "helps a stranger", "finds a key"),
    *("breaks a promise", "saves a village from a flood", "cooks for a queen", "gets lost in fog"),
)

PLACES = (
    *("a harbour town", "a desert", "an island without roads", "a crowded city", "the Arctic"),
    *("a mountain village", "a space station", "an old theatre", "a forest", "a train"),
    *("a library at night", "a market", "a hotel", "a school", "a farm", "a castle", "a museum"),
    *("a river boat", "a snowed-in cabin", "a bakery", "a hospital", "an airport"),
)

AUDIENCES = (
    *("to a five-year-old", "to a teenager", "to a student", "to someone in a hurry"),
    *("to my grandfather", "to an engineer", "in simple words", "in two short paragraphs"),
    *("with an analogy", "with one example", "step by step", "in about a hundred words"),
    *("to a class of beginners", "without technical terms", "in detail"),
)

MOODS = (
    *("funny", "sad", "mysterious", "hopeful", "scary", "gentle", "surprising", "romantic"),
    *("quiet", "adventurous", "dreamy", "old-fashioned"),
)

GOALS = (
    *("save money", "sleep better", "learn to draw", "get fit", "read more books", "make friends"),
    *("prepare for an exam", "clean a kitchen", "move to another city", "grow herbs indoors"),
    *("run five kilometres", "organise a birthday party", "write a novel", "learn the guitar"),
    *("start a small business", "train a puppy", "pack for a hiking trip", "give a speech"),
    *("reduce stress", "waste less food", "paint a room", "take better photographs"),
    *("choose a laptop", "stay focused", "plan a wedding", "cook for ten guests", "repair a chair"),
    *("remember names", "speak in public", "find a hobby", "write clearly", "eat more vegetables"),
    *("make a podcast", "teach children to swim", "build a bookshelf", "use less water"),
)

CATEGORIES = (
    *("musical instruments", "kinds of bread", "winter sports", "famous rivers", "board games"),
    *("programming languages", "spices", "jobs in a hospital", "African countries", "metals"),
    *("animals of the desert", "kitchen tools", "constellations", "European capitals", "trees"),
    *("inventions of the nineteenth century", "dances", "berries", "means of transport"),
    *("units of measurement", "writers", "gemstones", "garden birds", "pieces of furniture"),
    *("words that rhyme with light", "polite phrases", "things to take to the beach", "soups"),
    *("questions for a job interview", "names for a cat", "titles for a mystery novel"),
    *("healthy snacks", "reasons to learn history", "gifts for a friend", "weekend activities"),
    *("uses for an old newspaper", "yoga poses", "types of clouds", "insects", "film genres"),
)

RECIPIENTS = (
    *("my landlord", "a customer", "my team", "a professor", "the city council", "a new neighbour"),
    *("an old friend", "my boss", "a supplier", "the parents of my class", "a hotel", "my aunt"),
    *("a job applicant", "the editor of a newspaper", "an airline", "my dentist", "a museum"),
    *("the football club", "a librarian", "a former colleague"),
)

MATTERS = (
    *("a broken heating", "a late delivery", "next week's workshop", "a change of address"),
    *("an invitation to a garden party", "a missing invoice", "a day off", "a lost umbrella"),
    *("a noisy party", "the results of a survey", "a wrong bill", "a recommendation letter"),
    *("an apology for a mistake", "a cancelled trip", "the new opening hours", "a job offer"),
    *("feedback on a draft", "a delayed project", "a school excursion", "a refund"),
    *("thanks for a present", "a volunteer day", "parking rules", "a request for an interview"),
)

TONES = ("friendly", "formal", "short", "apologetic", "cheerful", "firm but polite", "warm")

PROGRAMMING = (
    *("reverses a string", "counts the vowels in a text", "finds the largest number in a list"),
    *("checks whether a number is prime", "computes a factorial", "removes duplicates from a list"),
    *("sorts a list of words by length", "converts Celsius to Fahrenheit", "sums the digits of n"),
    *("finds the second smallest value", "counts the words in a file", "merges two dictionaries"),
    *("flattens a nested list", "generates the first n Fibonacci numbers", "validates a password"),
    *("groups people by age", "reads a CSV file and prints its columns", "rolls two dice"),
    *("computes the average of a list", "rotates a list by k positions", "counts letters"),
    *("finds the common elements of two lists", "prints a multiplication table", "splits a bill"),
    *("searches a sorted list by bisection", "removes punctuation", "transposes a matrix"),
    *("checks whether two words are anagrams", "computes compound interest", "draws a triangle"),
    *("capitalises every word", "computes the greatest common divisor", "measures elapsed time"),
    *("simulates a queue", "shuffles a deck of cards", "finds missing numbers in a range"),
)

LANGUAGES = (
    *("Python", "Python", "Python", "JavaScript", "Java", "C", "Rust", "Go", "TypeScript"),
    *("Ruby", "C++", "Bash"),
)

CLASSES = (
    *("a shopping cart", "a stack", "a library of books", "a thermostat", "a circle", "a timer"),
    *("a playlist", "a matrix", "an alarm clock", "a student with grades", "a to-do list"),
    *("a vending machine", "a linked list", "a parking garage", "a fraction", "a dog"),
)

QUERIES = (
    *("lists all products cheaper than 20", "finds the three oldest employees", "joins two tables"),
    *("computes the average salary of each department", "deletes expired sessions"),
    *("counts visitors for each month", "finds customers without an e-mail address"),
    *("updates the price of one product", "shows the ten most popular songs"),
)

SENTENCES = (
    "The report was finished by the team after the deadline had passed.",
    "Our new office is near the station and it has a large kitchen and people like it.",
    "i think that the movie were very long but the actors was good",
    "Because of the rain, the picnic in the park was moved to the community hall.",
    "She put the keys on the table, left the house and forgot to lock the door.",
    "The committee is going to make a decision about the playground in the near future.",
    "there is many reasons why peoples likes to travel in summer",
    "The old bridge was closed for repairs, so everyone had to take the longer way home.",
    "My brother and his friend plays football every saturday at the school.",
    "We regret to inform you that your parcel could not be delivered today.",
    "The cat slept on the warm windowsill while snow fell silently outside.",
    "Due to the fact that the printer is broken, we are not able to print the tickets.",
    "A small bakery on the corner sells the best cinnamon rolls in the city.",
    "Yesterday I have seen a beautiful rainbow over the lake.",
    "The scientist carefully wrote every measurement into her blue notebook.",
    "In my opinion I think that homework should be less because students are tired.",
    "Please be informed that the swimming pool will be closed on Friday morning.",
    "He said he will come but he don't know at which time the bus arrive.",
    "The museum opened in 1912 and shows more than four thousand paintings.",
    "They was happy becuase there team had won the champion ship.",
    "Workers who arrive early can choose their desk, and late ones take what is left.",
    "The garden needs water, the fence needs paint, and the shed needs a new roof.",
    "It is important to note that the results are only valid for small groups.",
    "Last summer we travelled by train through four countries in nine days.",
)

EDITS = (
    *("Correct the mistakes in this text:", "Make this shorter:", "Rewrite this more formally:"),
    *(
        "Rewrite this in a friendly tone:",
        "Put this into the past tense:",
        "Rewrite in plain words:",
    ),
    *(
        "Turn this into a question:",
        "Say the same in other words:",
        "Expand this into a paragraph:",
    ),
    *("Repeat this text and underline nothing, change only the verbs:", "Put this into bullets:"),
    *("Rewrite this from the point of view of a child:", "Make this sound more exciting:"),
    *("Find three adjectives that fit this text:", "Write a headline for this text:"),
    *("Copy this text and then add one more sentence:", "Put this into the future tense:"),
)

FOREIGN = ("Spanish", "German", "French", "Italian", "Portuguese")

NAMES = (
    *("Mia", "Tom", "Aisha", "Lukas", "Sofia", "Chen", "Olga", "Ravi", "Emma", "Diego", "Yuki"),
    *("Noah", "Fatima", "Ben", "Clara", "Kofi", "Ines", "Jonas", "Leila", "Peter"),
)

GOODS = (
    *("apples", "pencils", "stickers", "marbles", "tickets", "books", "cookies", "coins"),
    *("eggs", "oranges", "chairs", "stamps", "bottles", "cards", "flowers", "bricks"),
)

SPEAKERS = (
    *("a doctor and a patient", "a waiter and a guest", "two astronauts", "a parent and a child"),
    *("a tourist and a police officer", "a customer and a shop assistant", "two old friends"),
    *("a reporter and a champion", "a king and his cook", "a sun and a moon", "two neighbours"),
    *("a coach and a player", "a landlord and a tenant", "a programmer and a rubber duck"),
    *("a librarian and a pirate", "a gardener and a snail", "two students before an exam"),
)

ROLES = (
    *("travel guide", "fitness coach", "history teacher", "chef", "librarian", "career adviser"),
    *("museum guide", "science reporter", "gardener", "storyteller", "detective", "kind teacher"),
)
