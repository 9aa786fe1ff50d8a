import { defineCode } from '../../kernel/base/errors.ts'

export const secondFactorRequired = defineCode('second_factor_required', 401, 4)
export const invalidSecondFactor = defineCode('invalid_second_factor', 401, 4)
