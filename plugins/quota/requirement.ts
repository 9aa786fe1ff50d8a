import { defineCode } from '../../kernel/base/errors.ts'
import { ownerLimitField } from '../rules/exports.ts'
import { Quota } from './entities.ts'
import { capability, QuotaRequired, requiredKey, unsupportedCode } from './wire.ts'

export const unsupported = defineCode(unsupportedCode, 422, 3)

export const requirement = ownerLimitField({
  key: requiredKey,
  requires: { capability, refusal: unsupported },
  message: QuotaRequired,
  async limited(owners, em) {
    const quotas = await em.find(Quota, { userId: { $in: [...owners] } }, { fields: ['userId', 'clientId'] })
    return quotas.map(({ userId, clientId }) => [userId, clientId])
  }
})
