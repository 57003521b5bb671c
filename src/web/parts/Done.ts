// A short word that something was done. Problems never come this way: they stay where they occurred.
import { notifications } from "@mantine/notifications"

const shownMillis = 5_000

export const sayDone = (message: string) =>
  void notifications.show({ message, autoClose: shownMillis, withBorder: true, color: "pine" })
