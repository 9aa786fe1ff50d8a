import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', '..', '..', path), 'utf8')

t.test('the guide lists every slot that plugins can fill', async t => {
  const slots = read('test/frozen/surface.txt').match(/^[\w.]+Slot$/gm) ?? []
  const guide = read('plugins/README.md')

  t.same(
    slots.filter(slot => slot !== 'defineSlot' && !guide.includes(`| \`${slot}\` |`)),
    []
  )
  t.ok(slots.length > 20)
})

t.test('the code in the guide is part of the example plugins', async t => {
  const shown = [...read('plugins/README.md').matchAll(/^```\S* ((?:test|plugins)\/.*)\n([\s\S]*?)^```$/gm)]

  t.ok(shown.length > 0)
  for (const [, file = '', excerpt = ''] of shown)
    t.ok(read(file).includes(excerpt), `${file}: ${excerpt.split('\n', 1)}`)
})
