// The rules that an envelope limits require it: an agent that cannot enforce it, or has lost it, does not open them.
import { defineCode } from '../../kernel/base/errors.ts'
import { derivedField } from '../rules/exports.ts'
import { Envelope } from './entities.ts'
import { capability, EnvelopeRequired, requiredKey, unsupportedCode } from './wire.ts'

export const unsupported = defineCode(unsupportedCode, 422, 3)

export const requirement = derivedField({
  key: requiredKey,
  requires: { capability, refusal: unsupported },
  message: EnvelopeRequired,
  async derive(rules, em) {
    const owners = [...new Set(rules.map(({ owner }) => owner))]
    const envelopes = await em.find(
      Envelope,
      { ownerId: { $in: owners } },
      { fields: ['ownerId', 'clientId'] }
    )
    const pairs = new Set(envelopes.map(({ ownerId, clientId }) => `${ownerId} ${clientId}`))
    const limited = rules.filter(({ owner, clientId }) => pairs.has(`${owner} ${clientId}`))
    return new Map(limited.map(({ id }) => [id, {}]))
  }
})
