// Loaded before dynalite, which leaves out attributes that a global index lacks. DynamoDB refuses to read them there, and
// to filter by them.
const db = require('dynalite/db')

const { queryTable } = db
db.queryTable = (store, table, data, ...more) => {
  const index = (table.GlobalSecondaryIndexes ?? []).find((one) => one.IndexName === data.IndexName)
  const lacking = index && index.Projection.ProjectionType !== 'ALL' ? unprojected(table, index, data) : []
  if (!lacking.length) return queryTable(store, table, data, ...more)
  const refusal = `Global secondary index ${index.IndexName} does not project [${lacking.join(', ')}]`
  more.at(-1)(db.validationError(`One or more parameter values were invalid: ${refusal}`))
}

function unprojected(table, index, data) {
  const keys = [...table.KeySchema, ...index.KeySchema].map((key) => key.AttributeName)
  const has = new Set([...keys, ...(index.Projection.NonKeyAttributes ?? [])])
  const read = (data._projection?.paths ?? []).map(([name]) => name)
  return [...read, ...Object.keys(data._filter?.pathHeads ?? {})].filter((name) => !has.has(name))
}
