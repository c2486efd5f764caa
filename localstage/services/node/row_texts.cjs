// Used by what writes rows and by what counts their units: a row and its index entries as JSON.
const db = require('dynalite/db')

// The entries are by their keys in the database, with the prefix of dynalite's getIndexDb.
module.exports = function rowTexts(table, row) {
  const text = JSON.stringify(row)
  const entries = new Map()
  for (const kind of row ? ['Local', 'Global'] : []) {
    const { puts } = db.getIndexActions(table[`${kind}SecondaryIndexes`] || [], undefined, row, table)
    for (const { index, key, item } of puts) {
      const place = `index-${kind.toLowerCase()}~${table.TableName}~${index}~${key}`
      entries.set(place, item === row ? text : JSON.stringify(item))
    }
  }
  return { text, entries }
}
