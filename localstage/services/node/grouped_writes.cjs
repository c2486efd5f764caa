// Loaded before dynalite, which writes each row and each of its index entries alone, and waits for another thread each
// time. Here, what is written while LevelDB is busy becomes its next batch, and a key is read without another thread.
// A write is still acknowledged only after LevelDB has it.
const { ClassicLevel } = require('classic-level')

const { batch, get } = ClassicLevel.prototype
const waiting = new WeakMap() // of each database: the writes that its next batch takes

ClassicLevel.prototype.get = async function (key, options) {
  return this.status === 'open' ? this.getSync(key, options) : get.call(this, key, options)
}

ClassicLevel.prototype.put = function (key, value) {
  return write(this, [{ type: 'put', key, value }])
}

ClassicLevel.prototype.del = function (key) {
  return write(this, [{ type: 'del', key }])
}

ClassicLevel.prototype.batch = function (operations) {
  return write(this, operations)
}

function write(database, operations) {
  return new Promise((resolve, reject) => {
    const queue = waiting.get(database)
    if (queue) return queue.push({ operations, resolve, reject })
    waiting.set(database, [{ operations, resolve, reject }])
    setImmediate(flush, database)
  })
}

async function flush(database) {
  const writes = waiting.get(database)
  if (!writes.length) return waiting.delete(database)
  waiting.set(database, [])
  try {
    await batch.call(database, writes.flatMap(({ operations }) => operations))
    for (const { resolve } of writes) resolve()
  } catch (error) {
    for (const { reject } of writes) reject(error)
  }
  setImmediate(flush, database)
}

// With LevelDB's 4 MB, it sorted and wrote each row again several times as the tables grew. With its 1,000 open files,
// their indexes took 0.2 MB of memory each, which grew with the data.
const OPTIONS = { writeBufferSize: 32 * 1024 * 1024, maxOpenFiles: 100 }
const { _open } = ClassicLevel.prototype
ClassicLevel.prototype._open = function (options) {
  return _open.call(this, { ...options, ...OPTIONS })
}
