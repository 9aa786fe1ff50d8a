import { defineCode } from '../../kernel/base/errors.ts'

export const importInvalid = defineCode('import_invalid', 400, 3)
export const importIncomplete = defineCode('import_incomplete', 400, 3)
