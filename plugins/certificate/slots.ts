import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../../kernel/slot.ts'

/** Returns how many secrets of a plugin, such as unused enrollment codes, pin the certificate. */
export const pinnedSlot = defineSlot<(em: EntityManager) => Promise<number>>('certificate.pinned')
