import type { Me } from '../../api/me.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { text } from '../../text/text.ts'
import NewPassword from './NewPassword.tsx'

export default function PasswordDialog({ me, onClose }: { readonly me: Me; readonly onClose: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title={text.password.title}>
      <NewPassword me={me} onDone={onClose} />
    </Dialog>
  )
}
