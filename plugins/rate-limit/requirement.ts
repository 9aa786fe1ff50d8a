import { defineCode } from '../../kernel/base/errors.ts'
import { ownerLimitField } from '../rules/exports.ts'
import { Envelope } from './entities.ts'
import { capability, EnvelopeRequired, requiredKey, unsupportedCode } from './wire.ts'

export const unsupported = defineCode(unsupportedCode, 422, 3)

export const requirement = ownerLimitField({
  key: requiredKey,
  requires: { capability, refusal: unsupported },
  message: EnvelopeRequired,
  async limited(owners, em) {
    const where = { ownerId: { $in: [...owners] } }
    const envelopes = await em.find(Envelope, where, { fields: ['ownerId', 'clientId'] })
    return envelopes.map(({ ownerId, clientId }) => [ownerId, clientId])
  }
})
