package snmp

import (
	"context"

	"github.com/gosnmp/gosnmp"

	"tare/internal/meter/power/source"
)

// client is set up for version 3 if a user is given, else for 2c.
func client(ctx context.Context, n *source.Name) (*gosnmp.GoSNMP, error) {
	at := n.Port
	if at == 0 {
		at = port
	}
	c := &gosnmp.GoSNMP{Target: n.Host, Port: uint16(at), Transport: "udp", Context: ctx,
		Timeout: answerIn, Retries: retries, MaxOids: gosnmp.MaxOids, Version: gosnmp.Version2c, Community: "public"}
	community, err := n.Secret("community", "")
	if err != nil {
		return nil, err
	}
	if community != "" {
		c.Community = community
	}
	if n.User == "" {
		return c, nil
	}
	c.Version, c.SecurityModel = gosnmp.Version3, gosnmp.UserSecurityModel
	usm := &gosnmp.UsmSecurityParameters{UserName: n.User, AuthenticationProtocol: gosnmp.NoAuth, PrivacyProtocol: gosnmp.NoPriv}
	c.SecurityParameters, c.MsgFlags = usm, gosnmp.NoAuthNoPriv
	if usm.AuthenticationPassphrase, err = n.Secret("password", ""); err != nil {
		return nil, err
	}
	if usm.PrivacyPassphrase, err = n.Secret("privacy", ""); err != nil {
		return nil, err
	}
	if usm.AuthenticationPassphrase != "" {
		c.MsgFlags = gosnmp.AuthNoPriv
		if usm.AuthenticationProtocol, err = authOf(n); err != nil {
			return nil, err
		}
	}
	if usm.PrivacyPassphrase != "" {
		if usm.AuthenticationPassphrase == "" {
			return nil, n.Errorf("privacy needs a password as well")
		}
		c.MsgFlags = gosnmp.AuthPriv
		if usm.PrivacyProtocol, err = cipherOf(n); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// authOf and cipherOf are what version 3 signs and encrypts by.
func authOf(n *source.Name) (gosnmp.SnmpV3AuthProtocol, error) {
	name, err := n.Word("auth", "sha", "md5", "sha256", "sha512")
	return map[string]gosnmp.SnmpV3AuthProtocol{"md5": gosnmp.MD5, "sha": gosnmp.SHA, "sha256": gosnmp.SHA256, "sha512": gosnmp.SHA512}[name], err
}

func cipherOf(n *source.Name) (gosnmp.SnmpV3PrivProtocol, error) {
	name, err := n.Word("cipher", "aes", "des", "aes256")
	return map[string]gosnmp.SnmpV3PrivProtocol{"des": gosnmp.DES, "aes": gosnmp.AES, "aes256": gosnmp.AES256}[name], err
}
