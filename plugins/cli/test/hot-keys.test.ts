// The README lists the keys that a reload applies.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { serverKeys } from '../../../kernel/settings.ts'

t.test('the README lists exactly the hot keys of the built-in plugins', async t => {
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  const schemas = [serverKeys, ...plugins.map(({ keys }) => keys)].flatMap(keys =>
    Object.entries(keys?.properties ?? {})
  )
  const hot = schemas.filter(([, schema]) => Reflect.get(schema, 'hot') === true).map(([name]) => name)
  const text = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const [, named = ''] =
    /applies at once: ([\s\S]*?), and the certificate and key of the API/.exec(text) ?? []

  t.same(
    [...named.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(),
    hot.filter(name => !/^operator_http_tls_(cert|key)_path$/.test(name)).sort()
  )
})
