import { Rules0001 } from './0001-rules.ts'
import { Rules0002 } from './0002-names.ts'

export const migrations = [
  { name: '0001-rules', class: Rules0001 },
  { name: '0002-names', class: Rules0002 }
]
