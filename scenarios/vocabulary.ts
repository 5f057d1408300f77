/**
 * The words that generated text is made of. Each of them, with a space before it, is exactly one token of o200k_base,
 * so a text of these words has a known length in tokens and known ids, and no encoder has to run to make it. Letters
 * after a space start a new pre-token, so no word's token depends on its neighbours.
 */

/** 512 words: nine random bits choose one. With its space a word is 4.5 bytes on average. */
const words = `
add age ago aid aim air alarm all and any api app are arg arm art ask at back bad bag bank bar base bash
batch be bed bell bet big bin bit blob blue body bool boot bound box bug bus but buy by byte call can cap
car card case cat char city cli code col cold come core cost count craft cup cur cut dark data date day db
deep def del deny desk dev did diff dig dim dir div do doc docs does dog dom done door dot down drop dry due
dump each east eat edit else end env even ever exit eye fact fail fall far fast fault feed few fill find
fine fire fit fix flag flat flow fly fold font foot for fork form four from full fun func gap gas gate gave
get git give go goal gold good got grab grand grep grid grow gui had half hand hang hard has hash have he
hear heat help her here hex high him hint his hit hold home hook hop horse hot hour how html http hub hull
ice icon if in info init int into ip is it item its jar job js json jump jun just keep kept key kind king
know lab lag land last late law lay lazy lead leaf leg len less let lib lid life light like line link live
load lock log long loop loss lost lot loud love low lua main make man map mark mask mat max may maybe me
mean meet men menu mesh met meta mid min mind mini miss mix mock mod mode most move much must my near need
nest net new news next no node none nor not note now npm null num odd of off offer ok old on once one open
opt or org our out over own pack pad page park part pass past path pay pdf peer per pick pin ping pip pipe
plant play plot plug plus poll pop port pose post prior prop pull push put py quad quit race rank rare rate
raw ray read real red ref reg rest rich ride ring road role roll room root row run safe said sale same sand
say scale scan sea seat see seed seen sell send sent set she ship shop short shut side sign silk sim six
size skin skip slot slow so soft sol solve some son soon sort span spot star stay step still str style such
sudo sum sun sure swap sync tag take talk tar task tax team ten term test text than that the then they thin
this tick tie tiny tip to too tool top toy tree trim true try tube turn twice two type ui uint unit unix up
upon url us use user utf valid van var vec via view void wait walk wall warm was way we web week well went
were what when who why wide wife win wind wire with word work year yes yet you your zero zip zone
`
  .trim()
  .split(/\s+/);

/** ` word`, with the space. */
export const spacedWords: readonly string[] = words.map((word) => ` ${word}`);

/** The o200k_base id of each spaced word, in the same order. */
export const wordIds: Uint32Array = new Uint32Array([
  1147, 5744, 5288, 13765, 11773, 3693, 23465, 722, 326, 1062, 11379, 1053, 553, 2341, 10454, 1957, 3810, 540,
  1602, 4790, 7144, 6922, 3608, 3611, 38615, 13754, 413, 3737, 32256, 1413, 3464, 6958, 3546, 48896, 9861,
  3641, 3792, 17180, 11608, 5506, 19154, 1918, 889, 3877, 656, 9239, 2421, 665, 2328, 1669, 4766, 1890, 9059,
  1826, 5030, 51052, 3490, 996, 12146, 3063, 10089, 3097, 3605, 13709, 11531, 4396, 6092, 8883, 1238, 3521,
  2163, 5636, 8103, 1056, 1083, 49756, 20794, 3947, 2242, 8868, 3807, 6051, 5609, 4223, 621, 6806, 53175,
  2226, 6446, 3878, 4167, 4121, 16579, 1917, 9440, 9952, 5192, 10114, 2454, 23557, 11237, 9204, 1203, 1268,
  9744, 1952, 4862, 10654, 10952, 2840, 7111, 5617, 4150, 5661, 20795, 7685, 3120, 6954, 1646, 8975, 6452,
  5769, 9295, 9641, 12508, 7845, 14360, 17691, 5109, 6428, 395, 36747, 1625, 4242, 591, 3149, 2827, 4660,
  19953, 7322, 27172, 10175, 717, 27339, 3644, 810, 8583, 8568, 1899, 3508, 18013, 6363, 51548, 10586, 3839,
  39299, 1458, 6375, 1803, 13875, 3479, 853, 10691, 679, 501, 9598, 10609, 1652, 1335, 2105, 26157, 1932,
  2395, 26628, 1232, 7103, 5060, 2237, 16682, 10284, 20998, 3648, 8825, 1495, 10250, 3958, 16529, 74912,
  14821, 7906, 538, 306, 5377, 6327, 677, 1511, 7993, 382, 480, 2169, 1617, 23852, 3349, 10974, 5701, 13843,
  15138, 1327, 3357, 13185, 2140, 3675, 13793, 1761, 9887, 9797, 4583, 2174, 7844, 3954, 15634, 29082, 4124,
  25882, 3050, 4631, 3760, 1632, 5090, 18680, 2615, 4207, 1299, 2543, 3461, 4561, 4700, 8109, 2142, 1701,
  11453, 6266, 8803, 3261, 27900, 3047, 4465, 38831, 2758, 1520, 873, 4014, 1983, 10910, 2450, 2999, 1340,
  10112, 668, 4774, 4158, 1966, 7492, 22212, 1421, 14732, 6959, 1349, 4246, 15065, 5141, 9762, 13322, 1812,
  6766, 1645, 5275, 2009, 2804, 922, 5862, 1309, 27194, 2776, 620, 5102, 2613, 860, 4596, 12698, 11777, 625,
  7477, 1954, 119472, 1256, 2269, 14210, 328, 1277, 2961, 4763, 2890, 402, 4730, 1001, 2494, 1832, 503, 1333,
  1039, 842, 1072, 2316, 5356, 11280, 3011, 11796, 997, 1853, 4241, 3104, 2777, 17625, 24770, 777, 5230,
  10251, 30868, 30920, 22906, 6804, 2107, 12857, 23830, 2932, 12854, 2735, 3135, 17557, 1926, 6217, 5892,
  11381, 9349, 3006, 13104, 31706, 27737, 11286, 10302, 12829, 6251, 11428, 22420, 1729, 1374, 3592, 2714,
  1324, 2867, 10358, 15104, 12796, 8733, 5430, 8465, 3435, 6577, 5225, 2461, 7703, 2059, 7357, 2684, 10749,
  2891, 9318, 14659, 9624, 15512, 1921, 17284, 6177, 7437, 4952, 3860, 920, 1770, 12407, 9100, 4022, 17972,
  4307, 2232, 56544, 1845, 7429, 2349, 7987, 16677, 8215, 9800, 813, 10143, 1887, 17722, 1236, 2391, 6780,
  4506, 19861, 10021, 8253, 5092, 5983, 2928, 989, 2713, 2238, 61621, 4215, 7334, 3239, 25489, 24085, 6221,
  2304, 4595, 7057, 5296, 5577, 3214, 4325, 2914, 1746, 2201, 1572, 484, 290, 1815, 1023, 22558, 495, 27693,
  22244, 20049, 10511, 316, 3101, 4584, 2344, 30427, 8165, 19334, 1343, 2075, 22143, 3716, 18370, 1920, 1490,
  14687, 4979, 7670, 118956, 869, 7557, 4666, 765, 1199, 1825, 22823, 4529, 1164, 972, 10563, 4493, 2325,
  1010, 5238, 5229, 9688, 9144, 673, 2006, 581, 1880, 2384, 1775, 5981, 1504, 1412, 1261, 1218, 4436, 8174,
  11527, 4449, 11215, 11394, 483, 2195, 1101, 1284, 14531, 5073, 481, 634, 12421, 16216, 15070,
]);
