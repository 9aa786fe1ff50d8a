// Codes that commands know, too: they load nothing of the server.
import { defineCode } from '../../kernel/base/errors.ts'

export const immutableField = defineCode('validation.rule_immutable_field', 400, 3)
