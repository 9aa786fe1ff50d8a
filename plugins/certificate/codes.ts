import { defineCode } from '../../kernel/base/errors.ts'

export const storeKeyUnusable = defineCode('startup.store_key', 500, 78)
