import t from 'tap'
import { refuseWeak } from '../password/password-strength.ts'
import { authServer, login, onboard, onboardedServer, root, signedInBrowser } from './fixture.ts'

const owner = { userId: 'winston', displayName: 'Winston S. Churchill' }

const reasonOf = (password: string): Promise<unknown> =>
  refuseWeak(password, owner).then(
    () => null,
    (error: {
      readonly errorCode: { readonly code: string }
      readonly details?: { readonly reason: string }
    }) => error.details?.reason ?? error.errorCode.code
  )

const weak: readonly (readonly [string, string])[] = [
  ['aaaaaaaaaaaa', 'repeated'],
  ['abcabcabcabc', 'repeated'],
  ['111122223333', 'repeated'],
  [' '.repeat(12), 'blank'],
  ['\0'.repeat(12), 'blank'],
  ['\0\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t \u00a0', 'blank'],
  ['abcdefghijklm', 'sequence'],
  ['345678901234', 'sequence'],
  ['zyxwvutsrqpo', 'sequence'],
  ['password1234', 'common'],
  ['PassWord1234', 'common'],
  ['123456789012', 'sequence'],
  ['passwordpassword', 'common'],
  ['dragondragondragon', 'common'],
  ['!!qwerty2024!!', 'common'],
  ['1q2w3e4r5t6y', 'common'],
  ['administrator', 'common'],
  ['ｐａｓｓｗｏｒｄ１２３４', 'common'],
  ['winston-12345', 'name'],
  ['Churchill1874', 'name'],
  ['winstonwinston', 'name'],
  ['sluice-sluice', 'name'],
  ['eleven byte', 'password_too_short'],
  ['x'.repeat(1025), 'password_too_long']
]
const good = [
  'a long enough password',
  'correct horse battery staple',
  'dragon8472910384756',
  'kV9#mQ2!xR7p',
  'winston likes brandy',
  'пароль из слов и 7 цифр',
  '4839201756384'
]

t.test('passwords that guessing programs try first are refused', async t => {
  for (const [password, reason] of weak) t.equal(await reasonOf(password), reason, JSON.stringify(password))
  for (const password of good) t.equal(await reasonOf(password), null, password)
})

t.test('a weak password is refused wherever a password is set, and changes nothing', async t => {
  const app = await authServer(t)
  const password = 'password1234'
  const refused = {
    status: 422,
    body: { error: { code: 'password_too_weak', details: { reason: 'common' } } }
  }

  t.match(await onboard(app, { password, password_confirm: password }), refused)
  t.equal((await onboard(app)).status, 201)
  const page = await signedInBrowser(app)
  const change = { current_password: root.password, new_password: password, new_password_confirm: password }
  t.match(await page.call('POST', '/v1/users/me/password', change), refused)
  const ann = { user_id: 'ann', display_name: 'Ann', initial_password: password }
  t.match(await app.call('POST', '/v1/users', ann), refused)
  t.equal((await app.call('GET', '/v1/users/ann')).status, 404)
  t.match(await app.call('POST', '/v1/users/root/password', { new_password: password }), refused)
  t.equal((await login(app)).status, 200)
})

t.test('the name of the user is no password', async t => {
  const app = await onboardedServer(t)
  const name = { code: 'password_too_weak', details: { reason: 'name' } }
  const bob = { user_id: 'bob-the-builder', display_name: 'Robert Tables' }
  const create = (initial_password: string) => app.call('POST', '/v1/users', { ...bob, initial_password })

  t.match((await create('bob-the-builder!')).body, { error: name })
  t.match((await create('Robert Tables 1')).body, { error: name })
  t.equal((await create('a password for him')).status, 201)
  const reset = { new_password: 'bob-the-builder99' }
  t.match((await app.call('POST', '/v1/users/bob-the-builder/password', reset)).body, { error: name })
})
