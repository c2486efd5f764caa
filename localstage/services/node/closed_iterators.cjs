// Loaded before dynalite, whose streams end their LevelDB iterator with iterator.return(), which abstract-level's
// iterators do not have: each Query and Scan left one open, with the blocks and files that it read.
const { AbstractIterator } = require('abstract-level')

const common = Object.getPrototypeOf(AbstractIterator.prototype)
common.return = function () {
  return this.close()
}
