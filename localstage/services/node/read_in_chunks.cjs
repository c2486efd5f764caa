// Loaded before dynalite, which reads rows one by one, each with a promise and an event of a Node stream, and ends its
// LevelDB iterators with a method that they do not have. Here, rows are read in chunks, and iterators are closed.
const Stream = require('node:stream')
const zlib = require('node:zlib')
const db = require('dynalite/db')

const ROWS = 1000
const BYTES = 256 * 1024

// What dynalite uses of a stream: the events data, end and error, and destroy().
class Chunks extends Stream {
  constructor(iterator) {
    super()
    this.isOver = false
    this.read(iterator).catch((error) => this.emit('error', error))
  }

  async read(iterator) {
    try {
      for (let rows = []; !this.isOver && (rows = await iterator.nextv(ROWS)).length; ) {
        for (const row of rows) if (!this.isOver) this.emit('data', row)
      }
    } finally {
      await iterator.close()
    }
    if (!this.isOver) this.emit('end')
  }

  destroy() {
    this.isOver = true
  }
}

const { create } = db
db.create = (options) => {
  const store = create(options)
  store.db.createValueStream = (range) => new Chunks(store.db.values({ ...range, highWaterMarkBytes: BYTES }))
  store.db.createKeyStream = (range) => new Chunks(store.db.keys({ ...range, highWaterMarkBytes: BYTES }))
  return store
}

// The checksum of every answer, which the package computes in JavaScript.
require('buffer-crc32').unsigned = (text) => zlib.crc32(text)
