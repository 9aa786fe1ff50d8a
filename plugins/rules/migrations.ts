import { Rules0001 } from './migrations/0001-rules.ts'
import { Rules0002 } from './migrations/0002-values-before.ts'
import { Rules0003 } from './migrations/0003-placed-by.ts'
import { Rules0004 } from './migrations/0004-changes.ts'
import { Rules0005 } from './migrations/0005-parts.ts'
import { Rules0006 } from './migrations/0006-ports.ts'
import { Rules0007 } from './migrations/0007-field-value.ts'

export const migrations = [
  { name: '0001-rules', class: Rules0001 },
  { name: '0002-values-before', class: Rules0002 },
  { name: '0003-placed-by', class: Rules0003 },
  { name: '0004-changes', class: Rules0004 },
  { name: '0005-parts', class: Rules0005 },
  { name: '0006-ports', class: Rules0006 },
  { name: '0007-field-value', class: Rules0007 }
]
