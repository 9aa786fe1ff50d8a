import { defineCode } from '../../kernel/base/errors.ts'
import { redeemCodes as refusals } from './wire.ts'

export const invalidEnrollmentTtl = defineCode('invalid_enrollment_ttl', 400, 3)
export const enrollmentNotFound = defineCode('enrollment_not_found', 404, 8)

export const codes = [invalidEnrollmentTtl, enrollmentNotFound, ...refusals]
