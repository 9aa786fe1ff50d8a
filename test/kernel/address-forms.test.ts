import t from 'tap'
import { addressForms } from '../../kernel/platform/address-forms.ts'
import { embeddedAddresses } from '../engine/embedded-addresses.ts'

t.test('an address has the forms that filters check', async t => {
  for (const [address, embedded] of embeddedAddresses)
    t.same(addressForms(address), embedded === null ? [address] : [address, embedded], address)
  t.same(addressForms('10.0.0.1'), ['10.0.0.1'])
  t.same(addressForms('::'), ['::'])
})
