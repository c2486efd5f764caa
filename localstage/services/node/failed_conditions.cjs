// Loaded before dynalite, whose answer to a put or update with a failed condition cannot hold the row that is there.
const db = require('dynalite/db')

for (const name of ['putItem', 'updateItem']) {
  const { types } = require(`dynalite/validations/${name}`)
  types.ReturnValuesOnConditionCheckFailure = { type: 'String', enum: ['ALL_OLD', 'NONE'] }
}

const { checkConditional } = db
db.checkConditional = (data, row) => {
  const refused = checkConditional(data, row)
  if (refused && row && data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD') refused.body.Item = row
  return refused
}
