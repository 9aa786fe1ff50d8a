import { defineCode } from '../../kernel/base/errors.ts'

export const backupFailed = defineCode('backup_failed', 500, 1)
export const notMovable = defineCode('store_not_movable', 500, 78)
export const targetNotEmpty = defineCode('store_target_not_empty', 500, 78)
export const copyDiffers = defineCode('store_copy_differs', 500, 1)
