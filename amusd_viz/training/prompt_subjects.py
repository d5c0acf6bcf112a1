"""What training prompts ask about: only data, and much of it.

A draft that has read about two hundred things is surprised by the two hundred and first; how many
different things are asked about matters as much as how much text there is.
"""

from __future__ import annotations


def _items(text: str) -> tuple[str, ...]:
    """The items of a text, which are separated by semicolons."""
    return tuple(" ".join(item.split()) for item in text.split(";") if item.strip())


WORKINGS = _items("""
a thermometer; a deep freezer; a microwave oven; a pendulum clock; a sewing machine; a vacuum cleaner; a
piano; a harmonica; a pipe organ; a submarine; a hot-air balloon; a parachute; a zip; a door lock; a fire
extinguisher; a smoke detector; a light bulb; a fluorescent lamp; an electric kettle; a toaster; a
dishwasher; a washing machine; a hearing aid; a pacemaker; an X-ray machine; an ultrasound scan; a
stethoscope; a barometer; a seismograph; a lighthouse; a dam; a canal lock; a suspension bridge; a crane; an
escalator; a cable car; a diesel engine; a jet engine; a gearbox; a clutch; a windmill; a heat pump; a power
station; a transformer; a fuse; a solar cell; a fuel cell; a loudspeaker; a microphone; a radio; a
television; a touchscreen; a hard disk; a memory card; a printer; a scanner; a digital camera; a film
projector; a hologram; a telescope mirror; an electron microscope; radar; sonar; satellite navigation; a fax
machine; e-mail; a web browser; a password manager; a firewall; video compression; speech recognition; a
recommendation system; online banking; a credit card; a mortgage; a pension; an auction; a lottery; an
election by mail; a jury; a parliament; a court of appeal; a library catalogue; a postcode; a museum
archive; a recycling plant; a sewage plant; a compost heap; a greenhouse; a beehive; a spider's web;
photosynthesis; a kidney; the liver; a lung; a nerve; the sense of smell; the sense of balance; blood
clotting; a muscle; a bone; a fever; an antibiotic; anaesthesia; a blood test; the tide; a geyser; a
volcano; a glacier; a tornado; a rainbow; an echo; a mirage; the northern lights; a solar eclipse; a
magnetic compass needle; a whip; a boomerang; a trampoline; a bicycle brake; a ski lift; a referee's offside
rule; a football league; a chess clock
""")
"""How does ... work?"""

WHYS = _items("""
is the sea salty; do stars twinkle; does the moon look larger near the horizon; do we have seasons; are days
longer in summer; does thunder follow lightning; do some clouds bring no rain; is snow white; do lakes
freeze from the top; does metal feel colder than wood; does iron rust; does a balloon stick to a wall; does
soap clean; do mirrors swap left and right; do planes leave white trails; do ships float; do bridges have
gaps; are manhole covers round; are golf balls dimpled; do tyres have grooves; do trains run on rails; does
a spinning top stay upright; do boomerangs return; do we yawn; do we hiccup; do we sneeze; do we blush; do
fingers wrinkle in water; do we need sleep; do we dream; do people laugh; do we forget names; does time seem
to pass faster as we grow old; do songs get stuck in our heads; do we get goosebumps; do muscles ache after
exercise; do some people get seasick; do babies cry; do teenagers sleep late; do teeth decay; do bones heal;
does hair turn grey; do dogs wag their tails; do owls turn their heads so far; do flamingos stand on one
leg; do zebras have stripes; do birds sing in the morning; do geese fly in a V; do fireflies glow; do moths
fly to lamps; do salmon swim upstream; do bears sleep through winter; do giraffes have long necks; do snakes
shed their skin; do mosquitoes bite some people more than others; do plants grow towards the light; do some
trees keep their needles; do cactuses have spines; do flowers smell; do bananas turn brown; does milk turn
sour; does popcorn pop; does honey keep for years; does chilli burn; does coffee keep us awake; does toast
smell good; does chocolate melt in the mouth; do prices rise; do companies advertise; do banks fail; do
countries borrow money; do some towns shrink; do people move to cities; do wars begin; did the Roman Empire
fall; did the dinosaurs die out; was the printing press important; were pyramids built; did people believe
the Earth was flat; was tea taxed; did railways change trade; is English spelling irregular; do languages
die; do we have leap years; do weeks have seven days; is gold valuable; are passwords stolen; do computers
use zeros and ones; do programs have bugs; does a phone battery age; is the internet slow in the evening; do
people share rumours; do children like to repeat stories; do we celebrate birthdays; do we shake hands; do
crowds clap in rhythm; do actors wear make-up; is practice better than talent; is it hard to change a habit;
do we feel lonely; is trust slow to build
""")
"""Why ...?"""

IDEAS = _items("""
supply and demand; compound interest; comparative advantage; a monopoly; a budget deficit; sunk costs; risk;
insurance; a public good; the tragedy of the commons; game theory; a bubble in the market; exchange rates; a
cooperative; a patent; copyright; the rule of law; the separation of powers; a referendum; federalism;
neutrality; human rights; citizenship; a treaty; diplomacy; propaganda; censorship; a free press; civil
disobedience; gravity; inertia; friction; density; pressure; buoyancy; momentum; energy conservation;
entropy; electric current; resistance; magnetism; resonance; refraction; the speed of light; relativity;
half-life; an atom; an isotope; an acid; a catalyst; a polymer; a crystal; osmosis; diffusion; evaporation;
a food chain; an ecosystem; symbiosis; camouflage; natural selection; a gene; a virus; a bacterium; an
enzyme; a hormone; a reflex; a placebo; a vaccine trial; an average; a median; correlation; causation; a
sample; a hypothesis; a proof; a theorem; infinity; a function; a derivative; a vector; symmetry; a fractal;
a logarithm; recursion; a variable; a loop; a data structure; a hash table; an API; open source; the cloud;
artificial intelligence; a chatbot; a spreadsheet; a metaphor; irony; a stereotype; a cliché; satire; a
haiku; a sonnet; a narrator; point of view; suspense; a plot twist; rhythm; harmony; a scale; perspective in
painting; impressionism; cubism; abstract art; a still life; gothic architecture; minimalism; a documentary;
a soundtrack; empathy; motivation; a habit; a bias; the comfort zone; mindfulness; stoicism; existentialism;
utilitarianism; free will; a paradox; common sense; hospitality; etiquette; fair play; teamwork; delegation;
feedback; a deadline; a prototype; brainstorming; quality control; a supply chain; a brand; a niche market
""")
"""What is ...? Explain the idea of ..."""

DIFFERENCES = _items("""
weather and climate; a frog and a toad; a crocodile and an alligator; a moth and a butterfly; a rabbit and a
hare; a fruit and a vegetable; a nut and a seed; jam and jelly; butter and margarine; baking powder and
baking soda; a cold and the flu; an artery and a vein; stress and anxiety; empathy and sympathy; jealousy
and envy; a hobby and a job; a boss and a leader; a goal and a wish; a novel and a short story; a simile and
a metaphor; a fable and a fairy tale; a biography and an autobiography; a theory and a law in science; mass
and weight; speed and velocity; heat and temperature; a planet and a star; a meteor and a meteorite; a solar
and a lunar eclipse; an ocean and a sea; an island and a peninsula; a hill and a mountain; a city and a
town; a country and a state; a republic and a monarchy; a law and a regulation; a civil and a criminal case;
a debit and a credit card; a stock and a bond; saving and investing; gross and net pay; a loan and a lease;
a bug and a feature; hardware and software; a compiler and an interpreter; a list and a tuple in Python; a
stack and a queue; a class and an object; a process and a thread; HTTP and HTTPS; a bit and a byte; a modem
and a router; data and information; a violin and a viola; a symphony and a concerto; an opera and a musical;
a painting and a print; a sketch and a drawing; a chef and a cook; a recipe and a menu; espresso and filter
coffee; a knight and a samurai; a castle and a palace; a museum and a gallery; a ferry and a cruise ship; a
tram and a train; a bus and a coach; walking and jogging; a sprint and a marathon; a draw and a win on
points; who and whom; less and fewer; affect and effect; its and it's; a hyphen and a dash; a synonym and an
antonym; a vowel and a consonant; a prefix and a suffix
""")
"""What is the difference between ... and ...?"""

LISTABLE = _items("""
ways to greet someone; rules for a shared kitchen; topics for a school magazine; questions to ask a
grandparent; excuses for being late; ideas for a science fair; experiments with water; games to play in a
car; games without equipment; outdoor activities for a windy day; things to see in a harbour; things a
museum guide should know; tools for a carpenter; tools for a gardener; things to check before a long drive;
things to check before renting a flat; documents needed for a passport; parts of a bicycle; parts of a
flower; parts of a computer; parts of a letter; bones of the human body; organs and what they do; vitamins
and where they are found; planets of the solar system; moons in the solar system; states of matter; simple
machines; renewable sources of energy; causes of noise in a city; causes of the First World War; effects of
deforestation; reasons to keep a diary; reasons to learn to swim; reasons to vote; advantages of public
transport; disadvantages of plastic; habits of good students; habits of good listeners; qualities of a
friend; mistakes beginners make in chess; mistakes in e-mails; signs that a plant needs water; signs of a
good restaurant; steps to bake a cake; steps to plan a trip; steps to write a report; steps to solve a
conflict; steps of the scientific method; ingredients of a salad; ingredients of a pizza; dishes with
potatoes; dishes for a picnic; breakfast ideas; drinks without sugar; kinds of pasta; kinds of cheese; kinds
of tea; kinds of boats; kinds of bridges; kinds of fabric; kinds of paper; kinds of poems; kinds of
sentences; kinds of triangles; kinds of rock; kinds of stories; breeds of dogs; breeds of sheep; birds of
prey; animals that sleep in winter; animals that live in groups; animals with shells; deep-sea creatures;
extinct animals; poisonous plants; medicinal plants; trees of the tropics; flowers for a balcony; rivers in
Asia; mountains in Europe; islands in the Pacific; deserts of the world; cities on a river; old
universities; famous bridges; famous explorers; women in science; composers of the romantic period;
sculptors; philosophers of ancient Greece; inventors and their inventions; empires of the past; revolutions;
languages of India; languages that are written from right to left; currencies; holidays around the world;
wedding customs; myths about the sun; gods of the Greeks; characters of a fairy tale; titles for a poem
about the sea; names for a café; names for a boat; slogans for a bakery; proverbs about time; idioms with
animals; words for walking; words for happiness; adjectives for a landscape; verbs for speaking; synonyms of
big; collective nouns; tongue twisters; riddles; jokes for children; keyboard shortcuts; file formats; data
types in Python; HTML tags; Git commands; Linux commands; sorting algorithms; design patterns; ways to speed
up a program; ways to name a variable; uses of a spreadsheet; uses of vinegar; uses of a paper clip; uses
for an old T-shirt
""")
"""List ..."""

AIMS = _items("""
wake up early; drink more water; stop biting nails; learn to whistle; learn to juggle; learn to knit; learn
to ride a horse; learn a poem by heart; learn a new language; learn touch typing; improve handwriting;
improve pronunciation; write a cover letter; write a eulogy; write a product description; write a good
title; summarise a long article; take notes in a lecture; prepare a presentation; lead a meeting; give
feedback; accept criticism; say no politely; ask for a raise; change careers; work from home with children;
share a flat; find a lost pet; adopt a cat; keep goldfish; feed birds in winter; attract butterflies; build
a birdhouse; build a campfire; pitch a tent; read a map; cross a river on foot; survive a thunderstorm
outdoors; pack a suitcase; travel with a baby; travel on a small budget; visit a city in one day; cook rice;
boil an egg; bake bread; make yoghurt; sharpen a knife; remove a stain; iron a shirt; sew on a button;
unclog a sink; fix a squeaky door; hang a picture; paint a fence; lay tiles; insulate a window; save
electricity; sort waste; make compost; prune roses; grow tomatoes from seed; keep a cactus alive; start a
choir; start a book club; organise a flea market; raise money for a school; run for a school council;
referee a football match; train for a triathlon; stretch after running; learn to dive; teach a child to ride
a bicycle; teach fractions; help with homework; calm a crying baby; tell a bedtime story; write a diary;
draw a face; mix colours; photograph the moon; edit a video; record a song; tune a guitar; read music;
compose a melody; make a puppet; fold a paper boat; fly a kite; play poker; solve a crossword; solve a
Rubik's cube; learn statistics; debug a program; write a test; back up a computer; choose a password; spot a
scam; compare two offers; read a contract; file a complaint; plan retirement; lend money to a friend;
apologise; keep a promise; meet new neighbours; welcome a new colleague
""")
"""How can I ...?"""

CODING = _items("""
finds the longest word in a sentence; checks whether a string is a palindrome; counts how often each
character occurs; converts a Roman numeral to a number; converts a number to binary; adds two binary
numbers; checks whether a year is a leap year; returns the days between two dates; prints a calendar of a
month; formats a number with thousands separators; parses a duration such as 1h30m; parses a query string;
validates an e-mail address; validates a credit card number; masks all but the last four digits; encodes a
text with the Caesar cipher; decodes Morse code; compresses a string by run lengths; wraps a text at 80
columns; extracts all links from a page; extracts hashtags from a text; replaces tabs by spaces; removes
blank lines from a file; reads the last ten lines of a file; copies a folder; finds the largest files in a
folder; renames photographs by date; merges several CSV files; converts CSV to JSON; reads a configuration
file; writes a log file; downloads a page; retries a request; caches the results of a function; limits how
often a function is called; measures memory; runs tasks in parallel; reads numbers until the user types
stop; asks the user for a date; plays rock, paper, scissors; plays hangman; guesses a number; draws a
chessboard; solves the towers of Hanoi; solves the eight queens problem; solves a Sudoku; finds a path
through a maze; simulates a game of life; simulates a bank account; simulates a traffic light; generates a
random password; generates prime numbers; generates permutations; generates all subsets of a set; computes a
power by squaring; computes a square root; computes a standard deviation; computes a median; computes a
moving average; multiplies two matrices; solves a quadratic equation; converts degrees to radians; computes
the distance between two points; checks whether a point lies in a circle; computes the area of a polygon;
sorts numbers with bubble sort; sorts numbers with quicksort; merges overlapping intervals; finds two
numbers that sum to a target; finds the majority element; finds the first unique character; finds the
longest increasing run; reverses a linked list; detects a cycle in a linked list; traverses a binary tree;
computes the height of a tree; inserts into a heap; implements a queue with two stacks; counts connected
components; finds the shortest path in a graph; sorts a graph topologically; balances brackets; evaluates an
arithmetic expression; converts infix to postfix; splits a list into chunks; zips two lists; pairs up
neighbours; swaps keys and values; deep-copies a dictionary; compares two versions; picks a weighted random
item; shortens a text to n characters; turns a title into a slug; pluralises a noun; writes a number in
words; greets the user by name; adds a tip to a bill; converts currencies; converts time zones; prints a
pyramid of stars; toggles a button's colour; validates a form; fetches data and shows it in a list; filters
a table as the user types; counts down to zero
""")
"""Write a function that ..."""

ABOUT = _items("""
the abacus; acorns; adoption; the Alps; amber; the Amazon river; anchors; antique furniture;
apprenticeships; aquariums; archery; asteroids; astronomy; avalanches; backpacks; badgers; ballads; bamboo;
barley; basketball; beaches; beards; beavers; bells; bicycles for hire; birthdays; biscuits; blankets;
blueberries; boredom at school; bookbinding; bowls; bread ovens; breakfast; bricks; brooms; butterflies;
buttons; calendars; camels; camping; canoes; caravans; carnival; carpets; carrots; cartoons; cathedrals;
ceramics; chairs; cheetahs; cherries; chess openings; chimneys; choirs; cider; cinemas; circuses; city
parks; clay; cliffs; coal; coconuts; coins; comic books; compost; cork; cotton; cows; crabs; cranes;
crickets; crosswords; crows; cucumbers; curry; cycling; dandelions; darts; deer; dentists; dice; dolphins;
donkeys; dragonflies; ducks; dust; eagles; earwax; eels; elephants; embroidery; emus; fairs; falcons;
families; fans; farms; feathers; fences; ferries; fig trees; fire brigades; fireworks; fishing; flags;
flutes; foam; folk songs; fossils; fountains; foxes; garlic; gates; geese; ginger; glaciers; gloves;
goldfish; gossip; grapes; grass; gravel; guitars; hammers; handball; harbours; harps; hats; hedgehogs; hemp;
herbs; herons; highways; hockey; homework; honey; hospitals; hotels; houseboats; humour; ice cream;
icebergs; ink; islands; ivory; jam; jellyfish; jigsaw puzzles; judo; juggling; jungles; kangaroos; kayaks;
keys; kites; kitchens; knots; lace; ladders; ladybirds; lamps; lavender; leather; lemons; lentils; lettuce;
libraries; lichens; lifeboats; lighthouses; lions; lizards; llamas; lullabies; maple syrup; marathons;
marble; markets; masks; matches; meadows; mentors; mice; mills; miners; mint; moles; monasteries; money;
monsoons; moose; mosaics; motorcycles; mountains; mud; mules; museums; mustard; nails; nectar; needles;
neighbours; nests; newspapers; nightingales; noise; noodles; nurses; nutmeg; oak trees; oases; oats; olives;
onion soup; orchards; orchestras; ostriches; otters; owls; paint; palm trees; pancakes; parks; passports;
peaches; peacocks; pearls; peas; pepper; perfume; pianos; pickles; picnics; pigeons; pigs; pine forests;
pizza; plums; pockets; polar bears; ponds; poppies; porridge; postcards; posters; prisons; pumpkins;
puppets; pyramids; quarries; quilts; rabbits; raccoons; radios; rafts; railways; rain; ravens; recipes;
reindeer; ribbons; rings; rope; roses; rowing; rubber; rugby; rugs; saffron; sand; sandwiches; saunas;
savings; saxophones; scarves; schools; scissors; seagulls; seals; seeds; shadows; sheep; shipwrecks; shoes;
silk; silver; skateboards; skiing; slang; sledges; slippers; snails; snow; socks; soil; soup; spoons;
squirrels; stadiums; stamps; starfish; statues; storks; storytelling; strawberries; sunflowers; surfing;
swamps; swans; swings; tailors; tapestries; taxis; teachers; tents; theatres; thistles; tides; tigers; tin;
toads; towels; towers; toys; trombones; tulips; tunnels; turnips; twins; universities; valleys; vanilla;
vegetables; villages; vineyards; volcanic islands; volleyball; volunteers; waiters; walls; walnuts; wasps;
watches; waterfalls; waves; wax; weddings; wells; whistles; wild horses; willows; windows; wolves; wood
carving; wool; woodpeckers; worms; wrestling; writing desks; yaks; yeast dough; zebras; zoos
""")
"""Tell me about ..."""

PASSAGES = _items("""
The bus was late again, so we walked to the station and missed our train.; If you has any questions, please
dont hesitate to contact me.; Our shop sells fresh fruit, warm bread, cold drinks and yesterday's
newspapers.; The lecture on Monday is moved to room 12 and starts half an hour later.; her dog run away
every time when the postman come; The mountain hut, which was built in 1930, has room for twenty guests and
a very small kitchen.; A good map saves time, a bad map costs time, and no map at all makes for a better
story.; The tests were carried out by three independent laboratories over a period of six months.; I am
writing because the washing machine which I bought at your shop in March makes a terrible noise.; It is the
case that a large number of members was of the opinion that the fee is too high.; Please switch off the
lights, close the windows and lock the door when you leave.; me and my sister was waiting since two hours in
front of the cinema; The river rose during the night, and by morning the lower fields were under water.;
Tickets cost 12 euros for adults and 7 euros for children, and groups pay 60 euros.; The new teacher speaks
softly, but nobody in the class dares to interrupt her.; Your order has been received and will be shipped
within two working days.; The orchestra played the final piece so quietly that one could hear the rain.; he
dont like neither coffee or tea but he drink alot of juice; Bananas are imported, apples are local, and
strawberries are only sold in June.; The company has decided to postpone the launch of the product until
further notice.; When the lights went out, everybody laughed, then somebody lit a candle.; This are the most
biggest pumpkins what I ever saw.; My grandfather repaired clocks, collected stamps and never once was
late.; The parking space behind the house is reserved for the doctor and for deliveries.; We have lost, but
we have played well, and next year we will be back.; The instructions is written in five language but none
of them are clear.; A storm warning has been issued for the coast, and boats should stay in the harbour.;
The library lends books, films, games and, since last year, tools.; Could you send me the file again,
because I can not open it on my computer?; The apartment has two rooms, a balcony to the south and a view of
the railway.
""")
"""Texts to be worked on."""
