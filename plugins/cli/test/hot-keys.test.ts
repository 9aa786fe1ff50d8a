// The keys that a reload takes over are those that the documentation names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { serverKeys } from '../../../kernel/settings.ts'

t.test('the README names every hot key of a built-in plugin, and no other', async t => {
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  const schemas = [serverKeys, ...plugins.map(({ keys }) => keys)].flatMap(keys =>
    Object.entries(keys?.properties ?? {})
  )
  const hot = schemas.filter(([, schema]) => Reflect.get(schema, 'hot') === true).map(([name]) => name)
  const text = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const [, named = ''] = /takes over ([\s\S]*?), and the certificate and key of the API/.exec(text) ?? []

  t.same(
    [...named.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(),
    hot.filter(name => !/^operator_http_tls_(cert|key)_path$/.test(name)).sort()
  )
})
