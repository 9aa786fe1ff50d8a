// The rules that a quota limits require it: an agent that cannot enforce it, or has lost it, does not open them.
import { defineCode } from '../../kernel/base/errors.ts'
import { derivedField } from '../rules/exports.ts'
import { Quota } from './entities.ts'
import { capability, QuotaRequired, requiredKey, unsupportedCode } from './wire.ts'

export const unsupported = defineCode(unsupportedCode, 422, 3)

export const requirement = derivedField({
  key: requiredKey,
  requires: { capability, refusal: unsupported },
  message: QuotaRequired,
  async derive(rules, em) {
    const owners = [...new Set(rules.map(({ owner }) => owner))]
    const quotas = await em.find(Quota, { userId: { $in: owners } }, { fields: ['userId', 'clientId'] })
    const pairs = new Set(quotas.map(({ userId, clientId }) => `${userId} ${clientId}`))
    const limited = rules.filter(({ owner, clientId }) => pairs.has(`${owner} ${clientId}`))
    return new Map(limited.map(({ id }) => [id, {}]))
  }
})
