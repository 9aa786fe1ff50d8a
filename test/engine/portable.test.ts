import t from 'tap'
import { openPortableEngine } from '../../agent/portable-engine/index.ts'
import { cases } from './cases.ts'

for (const [behaviour, play] of Object.entries(cases)) t.test(behaviour, t => play(t, openPortableEngine))
