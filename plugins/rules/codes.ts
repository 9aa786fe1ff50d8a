// Error codes for the server and commands. This module loads no server code.
import { defineCode } from '../../kernel/base/errors.ts'

export const ruleNotFound = defineCode('rule_not_found', 404, 8)
export const bodyEmpty = defineCode('validation.body_empty', 400, 3)
export const immutableField = defineCode('validation.rule_immutable_field', 400, 3)
export const activationFailed = defineCode('activation_failed', 422, 6)
