// Codes of changes. Commands know one of them, so nothing of the server is loaded with them.
import { defineCode } from '../../kernel/base/errors.ts'

export const bodyEmpty = defineCode('validation.body_empty', 400, 3)
export const immutableField = defineCode('validation.rule_immutable_field', 400, 3)
