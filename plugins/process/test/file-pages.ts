// Prints the file pages in KiB before and after their release, and results that prove that the process still works.
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openMemoryRelease } from '../idle-memory.ts'

const filePages = (): number =>
  Number(/^RssFile:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])

const db = new DatabaseSync(':memory:')
const release = openMemoryRelease()
const before = filePages()
release()
const after = filePages()
release()
const sum = db.prepare('select 20 + 22 as sum').get()?.['sum']
console.log(JSON.stringify({ before, after, sum, parsed: JSON.parse('[1]') }))
