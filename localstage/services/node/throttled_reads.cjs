// Loaded before dynalite, and after consumed_capacity, which throttles each key of a BatchGetItem alone: those keys become
// its UnprocessedKeys. A call of which no key can be read is refused.
const { batches } = require('./throughput.cjs')

const path = require.resolve('dynalite/actions/batchGetItem')
const action = require(path)

require.cache[path].exports = (store, data, callback) => {
  const tables = Object.entries(data.RequestItems)
  const unread = new Map() // the refusals by key
  for (const [, { Keys }] of tables) for (const key of Keys) batches.set(key, unread)
  action(store, data, (error, answer) => {
    if (error || !unread.size) return callback(error, answer)
    if (tables.every(([, { Keys }]) => Keys.every((key) => unread.has(key)))) return callback([...unread.values()][0])
    for (const [name, { _projection, ...request }] of tables) {
      const left = [...(answer.UnprocessedKeys[name]?.Keys ?? []), ...request.Keys.filter((key) => unread.has(key))]
      if (left.length) answer.UnprocessedKeys[name] = { ...request, Keys: left }
    }
    callback(null, answer)
  })
}
