// Loaded before dynalite, and after what replaces its actions. A table of DynamoDB does not wait for the batches of
// another one, but here one thread serves all tables. So only one batch of a table is in work at a time, and calls of
// other tables come in between.
const waiting = new Map() // by table, while a batch is in work: the batches that wait for it

for (const name of ['batchGetItem', 'batchWriteItem']) {
  const path = require.resolve(`dynalite/actions/${name}`)
  const action = require(path)
  require.cache[path].exports = (store, data, callback) =>
    apart(Object.keys(data.RequestItems).join(), (done) => action(store, data, done), callback)
}

function apart(table, work, callback) {
  const run = () =>
    work((error, answer) => {
      setImmediate(next, table)
      callback(error, answer)
    })
  const queue = waiting.get(table)
  if (queue) return queue.push(run)
  waiting.set(table, [])
  run()
}

function next(table) {
  const run = waiting.get(table).shift()
  if (run) run()
  else waiting.delete(table)
}

module.exports = apart
