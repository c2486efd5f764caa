// Loaded before dynalite, which knows no PartiQL: answers calls of BatchExecuteStatement whose statements insert rows into
// one table. Each statement has a separate outcome. A row that exists is never replaced.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
const http = require('node:http')
const db = require('dynalite/db')
const validations = require('dynalite/validations')
const apart = require('./tables_apart.cjs')
const putTogether = require('./whole_batches.cjs')

const MOST = 25
const FORM = /^INSERT INTO "([\w.-]+)" VALUE \{((?:'[^']+':\?,?)+)\}$/
const forms = new Map() // by text: the table of a statement, and the attributes of its parameters

function formOf(text) {
  if (!forms.has(text)) {
    const [, table, values] = FORM.exec(text) ?? []
    if (!table) throw db.validationError(`Only inserts of rows are emulated: ${text}`)
    forms.set(text, { table, names: [...values.matchAll(/'([^']+)'/g)].map(([, name]) => name) })
  }
  return forms.get(text)
}

function execute({ Statements: statements }, callback) {
  if (!(statements?.length <= MOST)) throw db.validationError(`A call has 1 to ${MOST} statements`)
  const tables = new Set()
  const items = statements.map(({ Statement, Parameters = [] }) => {
    const { table, names } = formOf(Statement)
    if (names.length !== Parameters.length) throw db.validationError('Number of parameters in request and statement differ')
    tables.add(table)
    return Object.fromEntries(names.map((name, at) => [name, Parameters[at]]))
  })
  const [name, another] = tables
  if (another) throw db.validationError('Only inserts into one table are emulated')
  store.getTable(name, (error, table) => {
    if (error) return callback(error)
    const refusals = new Map()
    const rows = new Map() // by key; each other row of a key is a duplicate
    for (const item of items) {
      const invalid = problemOf(item, table)
      const key = invalid ? '' : db.createKey(item, table)
      if (invalid) refusals.set(item, invalid)
      else if (rows.has(key)) refusals.set(item, putTogether.DUPLICATE)
      else rows.set(key, item)
    }
    const put = (done) => putTogether(store, table, [...rows.values()], true, done)
    apart(name, put, (failure, found) => {
      if (failure) return callback(failure)
      const outcome = (item) => errorOf(refusals.get(item) ?? found.get(item))
      callback(null, { Responses: items.map((item) => ({ TableName: name, ...outcome(item) })) })
    })
  })
}

function problemOf(item, table) {
  for (const value of Object.values(item)) {
    const problem = validations.validateAttributeValue(value)
    if (problem) return db.validationError(problem)
  }
  if (db.itemSize(item) > store.options.maxItemSize) return db.validationError('Item size has exceeded the maximum allowed size')
  return db.validateItem(item, table)
}

// The code of a statement's error is that of the call's exception, which has another end for what is not valid.
function errorOf(refusal) {
  if (!refusal) return {}
  const { __type: type, message: Message } = refusal.body
  const Code = type.split('#')[1].replace('ValidationException', 'ValidationError').replace('ThrottlingException', 'ThrottlingError')
  return { Error: { Code: Code.replace(/Exception$/, ''), Message } }
}

let store
const { create } = db
db.create = (options) => (store = create(options))

const { createServer } = http
http.createServer = (handler) =>
  createServer(async (request, response) => {
    if (request.headers['x-amz-target'] !== 'DynamoDB_20120810.BatchExecuteStatement') return handler(request, response)
    const answer = (status, body) => {
      const text = Buffer.from(JSON.stringify(body))
      const headers = { 'content-type': 'application/x-amz-json-1.0', 'content-length': text.length, 'x-amzn-requestid': 'local' }
      response.writeHead(status, headers)
      response.end(text)
    }
    const refuse = ({ body, message }) => answer(body ? 400 : 500, body ?? { __type: 'InternalServerError', message })
    try {
      const chunks = []
      for await (const chunk of request) chunks.push(chunk)
      execute(JSON.parse(Buffer.concat(chunks).toString()), (error, body) => (error ? refuse(error) : answer(200, body)))
    } catch (error) {
      refuse(error)
    }
  })
