// Names and descriptions of rules. Only the server uses them: a change sends nothing to agents. They are columns of the
// table of rules. Members of a group rule have its name, so that an index keeps it unique on each client.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { controlChars } from '../../../kernel/base/log.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { recordNamesSlot } from '../../http/exports.ts'
import { queries } from '../api/queries.ts'
import type { Values } from '../api/rule-record.ts'
import { isGroupRule, Rule } from '../entities.ts'
import { type RuleCore, ruleField } from '../fields/rule-field.ts'
import { maxName } from './is-rule-name.ts'
import { invalidRuleName, ruleNameSchema } from './rule-name-schema.ts'

const invalidDescription = defineCode('validation.description', 400, 3)
const ruleNameTaken = defineCode('rule_name_taken', 409, 5)
export const nameCodes = [invalidRuleName, invalidDescription, ruleNameTaken]

const maxDescriptionBytes = 255

const nameField = ruleField({
  key: 'name',
  column: 'name',
  change: 'hot',
  unlessGiven: 'stays',
  errors: [invalidRuleName, ruleNameTaken],
  body: ruleNameSchema(
    `1 to ${maxName} of a-z, 0-9 and -, not first or last; unique among the rules of the owner on a client.`
  ),
  async check(name, rule, em) {
    const holder = await findHolder(name, rule, em)
    if (!holder) return
    const client = await em.findOne(Client, { id: holder.clientId }, { fields: ['name'] })
    const id = holder.parent ?? holder.id
    const message = `rule ${id} of ${rule.owner} on client ${client?.name ?? holder.clientId} has the name ${name}; choose another, or rename that rule`
    throw new Fault(ruleNameTaken, message, { details: { field: '/name', rule_id: id } })
  },
  save: (id, name, em) => setName(id, name, em),
  clear: (id, em) => setName(id, null, em)
})

const descriptionField = ruleField({
  key: 'description',
  column: 'description',
  change: 'hot',
  unlessGiven: 'stays',
  errors: [invalidDescription],
  body: Type.Refine(
    Type.String({
      maxLength: maxDescriptionBytes,
      code: invalidDescription.code,
      description: `Free text, at most ${maxDescriptionBytes} bytes on one line.`,
      examples: ['shop, behind the load balancer']
    }),
    text => descriptionProblem(text) === null,
    text => descriptionProblem(text) ?? ''
  ),
  parse: text => (text === '' ? null : text),
  save: (id, description, em) => setDescription(id, description, em),
  clear: (id, em) => setDescription(id, null, em)
})

export const nameFills = [
  nameField,
  descriptionField,
  recordNamesSlot.fill({ idKey: 'rule_id', nameKey: 'rule_name', load: queries.loadNames })
]

function descriptionProblem(text: string): string | null {
  const bytes = Buffer.byteLength(text)
  if (bytes > maxDescriptionBytes) return `has ${bytes} bytes; the maximum is ${maxDescriptionBytes}`
  if (controlChars.test(text) || !text.isWellFormed())
    return 'contains line breaks or other control characters; remove them'
  return null
}

/** Members have the name of their group rule. */
async function setName(id: string, name: string | null, em: EntityManager): Promise<void> {
  await em.nativeUpdate(Rule, { $or: [{ id }, { parent: id }] }, { name })
}

async function setDescription(id: string, description: string | null, em: EntityManager): Promise<void> {
  await em.nativeUpdate(Rule, { id }, { description })
}

/** Returns another rule of the owner with the name, on the client of the rule or of one of its members. */
async function findHolder(
  name: string,
  rule: Pick<RuleCore, 'id' | 'clientId' | 'owner'>,
  em: EntityManager
): Promise<Pick<Rule, 'id' | 'parent' | 'clientId'> | null> {
  const inForce = { state: { $ne: 'draining' as const } }
  const members = isGroupRule(rule)
    ? await em.find(Rule, { parent: rule.id, ...inForce }, { fields: ['clientId'] })
    : [rule]
  const where: FilterQuery<Rule> = {
    ...inForce,
    clientId: { $in: members.map(({ clientId }) => clientId) },
    owner: rule.owner,
    name,
    id: { $ne: rule.id },
    $or: [{ parent: null }, { parent: { $ne: rule.id } }]
  }
  return em.findOne(Rule, where, { fields: ['parent', 'clientId'], orderBy: { id: 'asc' } })
}

/** Returns the values without a name that another rule has taken since: an undone change then keeps the new name. */
export async function withFreeName(
  values: Values,
  rule: Pick<RuleCore, 'id' | 'clientId' | 'owner'>,
  em: EntityManager
): Promise<Values> {
  const { name, ...others } = values
  return typeof name === 'string' && (await findHolder(name, rule, em)) ? others : values
}
